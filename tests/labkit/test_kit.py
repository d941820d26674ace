"""What students meet: `dir(labkit)`, `kit`, the names of each lab, the first line of a notebook."""

import inspect
import pickle
import subprocess
import sys
import zipfile
from importlib import import_module
from io import BytesIO

import pytest

import labkit
from autograder.builder.editions import edition_of
from autograder.builder.source import find_lab, read_labs
from autograder.imports import offered_by
from autograder.places import REPOSITORY
from labkit import kit
from labkit.labs import batching, speculative

TOPICS = [lab.topic for lab in read_labs()]
PACKAGES = ["labkit.kit", *(f"labkit.labs.{topic}" for topic in TOPICS)]
LIGHT = """
import sys
from labkit import kit
from labkit.labs import batching, speculative

dir(kit), dir(batching), dir(speculative)
print(*({"torch", "numpy", "matplotlib", "transformers"} & set(sys.modules)))
"""
START = """
from labkit import kit

check = kit.start("memory", globals())
import torch

assert torch.get_num_threads() == 1
assert type(check).__name__ == "Checker"
"""
IN_KERNEL = f"""
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.kernel = object()
shell.run_cell({START!r}).raise_error()
"""
OTHER_LAB = """
from labkit import kit

assert "Table" in dir(kit) and "Bench" not in dir(kit)
kit.Bench
"""


def run(code, *, where=REPOSITORY, is_right=True):
    done = subprocess.run([sys.executable, "-c", code], cwd=where, capture_output=True, text=True)
    assert (done.returncode == 0) == is_right, done.stderr
    return done.stdout if is_right else done.stderr


def test_labkit_lists_the_answers_of_the_labs_and_where_the_rest_begins():
    answers = [topic for topic in TOPICS if (REPOSITORY / f"labkit/{topic}.py").exists()]
    assert dir(labkit) == sorted([*answers, "__version__", "kit", "zoo"])
    assert labkit.__version__.startswith("0.")


@pytest.mark.parametrize("package", PACKAGES)
def test_each_name_that_a_package_offers_is_there_and_no_module_hides_it(package):
    module = import_module(package)
    for name, place in offered_by(package).items():
        import_module(place)
        assert getattr(module, name) is module.__getattr__(name)


def test_importing_kit_and_looking_through_it_loads_nothing_heavy():
    assert run(LIGHT).split() == []


def test_a_name_is_shown_under_its_short_module_and_can_be_pickled_and_read():
    assert batching.serve.__module__ == "labkit.labs.batching"
    assert kit.pass_floor.__module__ == "labkit.kit"
    for value in (
        batching.serve,
        batching.Job,
        kit.pass_floor,
        kit.ModelShape,
        speculative.one_token,
    ):
        assert pickle.loads(pickle.dumps(value)) is value
        assert value.__name__ in inspect.getsource(value)


def test_a_name_that_no_package_offers_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'labkit.kit' has no attribute 'nothing'"):
        kit.nothing  # noqa: B018


def test_a_lab_starts_on_one_thread_and_prints_nothing_outside_of_a_kernel():
    assert run(START) == ""


def test_a_kernel_shows_what_is_ready():
    assert run(IN_KERNEL).startswith("ready: labkit ")


def test_the_wheel_of_a_lab_lists_what_it_holds_and_names_what_it_does_not(tmp_path):
    with zipfile.ZipFile(BytesIO(edition_of(find_lab("01")).wheels[1].content)) as archive:
        archive.extractall(tmp_path)
    assert run(OTHER_LAB, where=tmp_path, is_right=False).splitlines()[-1] == (
        "AttributeError: labkit.kit.Bench is in the labkit of other labs: "
        "this one has no labkit.measuring.bench"
    )
