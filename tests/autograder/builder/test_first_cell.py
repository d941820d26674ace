"""The first cell as students run it: released files, one environment, no network."""

import json
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from student_venv import Environment, first_cell, unpack

from autograder import places
from autograder.builder.editions import edition_of
from autograder.builder.notebooks import repository_cell
from autograder.builder.site import write_site
from autograder.builder.source import read_course, read_labs
from autograder.builder.wheel import code_files
from autograder.places import REPOSITORY
from autograder.signing import key_file, make_key, signature_of

LABS = read_labs()
FIRST, SECOND = LABS[:2]
NOWHERE = "http://127.0.0.1:9"
RUN_PIP = "runpy.run_module('pip', run_name='__main__')"
USE = """
import labkit.models.facts as facts
from importlib.metadata import version
print(version("labkit"), version("labkit-data"), facts.data_path("models.json").parent.name)
"""
COLAB = """
import builtins, sys, types
sys.modules["google.colab"] = types.ModuleType("google.colab")
kernel = types.SimpleNamespace(do_shutdown=lambda restart: print("restart", restart))
builtins.get_ipython = lambda: types.SimpleNamespace(kernel=kernel)
"""
NOTEBOOK = """
import importlib.metadata, importlib.util, sys
from IPython.core.interactiveshell import InteractiveShell
importlib.metadata.distributions = lambda name: []
importlib.util.find_spec = lambda name: None
InteractiveShell().run_cell(sys.stdin.read())
"""


@pytest.fixture(scope="module", autouse=True)
def own_course(tmp_path_factory):
    """A course with a key of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "COURSE", tmp_path_factory.mktemp("course") / "course.toml")
        places.COURSE.write_text('title = ""\n')
        make_key()
        yield


@contextmanager
def revision(number, folder):
    """What is built meanwhile has this revision in the first lab."""
    with pytest.MonkeyPatch.context() as patch:
        secret, key = key_file().read_text(), read_course().key
        patch.setattr(places, "COURSE", folder / "course.toml")
        key_file().write_text(secret)
        course = f'title = ""\nkey = "{key}"\n[revisions]\n{FIRST.name} = {number}\n'
        places.COURSE.write_text(course)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A student's folder, with the files of the first lab's zip."""
    folder = tmp_path_factory.mktemp("student")
    unpack(edition_of(FIRST), folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def venv(tmp_path_factory, folder):
    """An environment in which the first lab's first cell ran."""
    place = tmp_path_factory.mktemp("venv")
    venv = Environment(place)
    edition = edition_of(FIRST)
    assert venv.says(unpack(edition, folder), folder) == f"labkit {edition.version} is installed."
    yield venv
    shutil.rmtree(place)


@pytest.fixture
def ready(venv, folder):
    """The environment with the first lab's labkit, whatever the test before left."""
    if not venv.holds(edition := edition_of(FIRST)):
        wheel = str(folder / edition.wheels[1].file_name)
        venv.run(f"import runpy, sys; sys.argv[1:] = ['install', {wheel!r}]; {RUN_PIP}", folder)
    return venv


@pytest.fixture(scope="module")
def corrected(tmp_path_factory):
    """Revision 2 of the first lab."""
    with revision(2, tmp_path_factory.mktemp("course")):
        return edition_of(FIRST)


@pytest.fixture
def site(tmp_path_factory):
    """The address of a site that has the first lab alone, to be quick, and its folder."""
    folder = tmp_path_factory.mktemp("site")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    handler.log_message = lambda *words: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    write_site(folder, [FIRST], address)
    yield address, folder
    server.shutdown()
    server.server_close()
    shutil.rmtree(folder)


def test_one_environment_serves_all_labs_by_their_zips_and_gets_the_data_once(venv, folder):
    installed = (venv.packages / "labkit_data").stat().st_ino
    for lab in LABS:
        edition = edition_of(lab)
        said = venv.says(unpack(edition, folder), folder)
        assert said == f"labkit {edition.version} is {'ready' if lab == FIRST else 'installed'}."
        used = f"{edition.version} {edition.wheels[0].version} labkit_data"
        assert venv.says(USE, folder) == used
    assert (venv.packages / "labkit_data").stat().st_ino == installed


def test_in_an_environment_that_all_students_share_each_has_the_labkit_of_the_lab(tmp_path):
    """pip installs into the student's home then, and does not remove what lies there."""
    shared, folder = Environment(tmp_path / "venv", "--system-site-packages"), tmp_path / "lab"
    home = {"PYTHONUSERBASE": str(tmp_path / "home"), "PIP_USER": "1"}
    said = shared.says(unpack(edition_of(FIRST), folder), folder, **home)
    assert said == "Restart the kernel, then run all cells again: labkit changes."
    for lab in (SECOND, FIRST):
        edition = edition_of(lab)
        cell = unpack(edition, folder)
        assert shared.says(cell, folder, **home) == f"labkit {edition.version} is installed."
        assert shared.says(cell, folder, **home) == f"labkit {edition.version} is ready."
        assert shared.says(USE, folder, **home).split()[0] == edition.version


def test_a_corrected_zip_beside_the_old_notebook_is_taken_and_kept(ready, folder, corrected):
    old = first_cell(edition_of(FIRST).notebook(""))
    unpack(corrected, folder)
    said = ready.says(old, folder)
    assert said == f"labkit {corrected.version} is installed. It is a newer edition of this lab."
    (folder / "labkit-lab01.json").unlink()
    for cell in (old, first_cell(corrected.notebook(NOWHERE))):
        assert ready.says(cell, folder) == f"labkit {corrected.version} is ready."
    for path in folder.glob("labkit-*lab01.2*"):
        path.unlink()


def test_a_corrected_list_that_a_browser_renamed_is_read(ready, folder, corrected, tmp_path):
    """Colab keeps the old list and writes " (1)" into the name of the new one."""
    old = unpack(edition_of(FIRST), tmp_path)
    (tmp_path / "labkit-lab01 (1).json").write_bytes(corrected.listed())
    wheel = corrected.wheels[1]
    (tmp_path / wheel.file_name.replace(".whl", " (1).whl")).write_bytes(wheel.content)
    assert ready.says(old, tmp_path).startswith(f"labkit {corrected.version} is installed.")


def test_a_corrected_lab_arrives_from_its_address(ready, site, corrected, tmp_path):
    address, place = site
    old = first_cell((place / "notebooks" / f"{FIRST.name}.ipynb").read_text())
    assert ready.says(old, tmp_path).endswith("is ready.")
    with revision(2, tmp_path):
        write_site(place, [FIRST], address)
    assert ready.says(old, tmp_path).endswith("is installed. It is a newer edition of this lab.")
    assert ready.says(USE, tmp_path).split()[0] == corrected.version


def newer_list(corrected, **more):
    """The list of the corrected edition, with other packages or files, and as it was signed."""
    news = json.loads(corrected.listed())
    return {**news, "wheels": news["wheels"] | more}


def of_another_key(corrected, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "COURSE", folder / "course.toml")
        places.COURSE.write_text('title = "another"\n')
        make_key()
        return json.loads(corrected.listed())


def signed(wheels):
    return {"wheels": wheels, "signature": signature_of(wheels)}


EVIL = ["9.0", "0" * 64]
UNSIGNED = {  # lists that somebody else than the course has put there
    "another package": lambda corrected, folder: newer_list(corrected, evil=EVIL),
    "another package, signed": lambda corrected, folder: signed(
        newer_list(corrected, evil=EVIL)["wheels"]
    ),
    "another hash": lambda corrected, folder: newer_list(
        corrected, labkit=[corrected.version, "0" * 64]
    ),
    "another hash of what is pinned": lambda corrected, folder: newer_list(
        corrected, labkit=[edition_of(FIRST).version, "0" * 64]
    ),
    "no signature": lambda corrected, folder: newer_list(corrected) | {"signature": ""},
    "another list's signature": lambda corrected, folder: (
        newer_list(corrected) | {"signature": signature_of({"labkit": 1})}
    ),
    "another course's key": of_another_key,
}


@pytest.mark.parametrize("kind", UNSIGNED)
def test_a_list_that_the_course_has_not_signed_is_not_used(kind, ready, site, corrected, tmp_path):
    _, place = site
    cell = first_cell((place / "notebooks" / f"{FIRST.name}.ipynb").read_text())
    listed = json.dumps(UNSIGNED[kind](corrected, tmp_path))
    for folder in (place, tmp_path):
        (folder / "labkit-lab01.json").write_text(listed)
        *sentences, said = ready.run(cell, tmp_path).splitlines()
        assert said == f"labkit {edition_of(FIRST).version} is ready."
        assert {*sentences} == {
            "labkit-lab01.json is not used: the course has not signed what it names."
        }


def test_a_list_of_an_older_edition_is_not_used(ready, corrected, tmp_path):
    (tmp_path / "labkit-lab01.json").write_bytes(edition_of(FIRST).listed())
    said = ready.says(first_cell(corrected.notebook("")), tmp_path)
    assert said.startswith("The labkit of lab 01 is not installed.")


def test_a_course_without_a_key_takes_no_list_from_its_site(ready, site, corrected, tmp_path):
    address, place = site
    (place / "labkit-lab01.json").write_bytes(corrected.listed())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "COURSE", tmp_path / "course.toml")
        places.COURSE.write_text(f'title = ""\naddress = "{address}"\n')
        cells = first_cell(edition_of(FIRST).notebook(address)), repository_cell(FIRST)
        assert json.loads(edition_of(FIRST).listed())["signature"] == ""
    for cell in cells:
        assert ready.run(cell, tmp_path) == f"labkit {edition_of(FIRST).version} is ready.\n"


def test_the_repositorys_notebook_takes_a_signed_list_from_its_site(
    ready, site, corrected, tmp_path
):
    address, place = site
    with revision(2, tmp_path):
        write_site(place, [FIRST], address)
        places.COURSE.write_text(f'address = "{address}"\n{places.COURSE.read_text()}')
        cell = repository_cell(FIRST)
    said = ready.says(cell, tmp_path)
    assert said.startswith(f"labkit {corrected.version} is installed.")


def test_the_sites_index_is_one_that_pip_reads(ready, site, tmp_path):
    address, _ = site
    command = [ready.python, "-m", "pip", "download", "labkit", "--index-url", f"{address}/simple/"]
    variables = {k: v for k, v in ready.variables.items() if k != "PIP_NO_INDEX"}
    subprocess.run(command, cwd=tmp_path, env=variables, check=True, capture_output=True)
    assert [path.suffix for path in tmp_path.iterdir()] == [".whl"]


def test_what_is_cut_off_on_the_way_is_not_installed(ready, site, corrected, tmp_path):
    address, place = site
    with revision(2, tmp_path):
        write_site(place, [FIRST], address)
    wheel = place / "wheels" / corrected.wheels[1].file_name
    wheel.write_bytes(wheel.read_bytes()[:-1000])
    said = ready.says(first_cell(corrected.notebook(address)), tmp_path)
    assert "Check the network" in said
    (tmp_path / wheel.name).write_bytes(corrected.wheels[1].content)
    said = ready.says(first_cell(corrected.notebook(NOWHERE)), tmp_path)
    assert said.startswith(f"labkit {corrected.version} is installed.")


def cut_off(edition, folder):
    (folder / edition.wheels[1].file_name).write_bytes(edition.wheels[1].content[:-1000])


def of_another_lab(edition, folder):
    wheel = edition_of(SECOND).wheels[1]
    (folder / wheel.file_name).write_bytes(wheel.content)


PUT = "Unpack the zip of lab 01. Put its two .whl files and labkit-lab01.json into {folder}, then "
PUT += "run this cell again."
SENTENCES = {
    "nothing": (lambda *given: None, f"The labkit of lab 01 is not installed. {PUT}"),
    "cut off": (cut_off, f"{{wheel}} beside this notebook is cut off or of another course. {PUT}"),
    "another lab's": (
        of_another_lab,
        f"{{other}} beside this notebook is of another lab, edition or course. {PUT}",
    ),
}


@pytest.mark.parametrize("case", SENTENCES)
def test_what_is_missing_is_said_with_what_to_do(case, ready, corrected, tmp_path):
    spoil, sentences = SENTENCES[case]
    spoil(corrected, tmp_path)
    wanted = sentences.format(
        folder=tmp_path,
        wheel=corrected.wheels[1].file_name,
        other=edition_of(SECOND).wheels[1].file_name,
    )
    assert ready.says(first_cell(corrected.notebook("")), tmp_path) == wanted


def test_in_colab_the_files_are_uploaded_and_the_session_restarts(ready, corrected, tmp_path):
    cell = first_cell(corrected.notebook(""))
    assert ready.says(COLAB + cell, tmp_path).endswith(
        "Click the folder symbol on the left, upload its two .whl files and labkit-lab01.json, "
        "then run this cell again."
    )
    printed = ready.run(f"{COLAB}import labkit\n{cell}", tmp_path)
    assert printed.startswith("restart True\n")
    assert printed.endswith("This session restarts by itself. Then run all cells again.\n")


def test_a_labkit_in_use_stays_until_the_kernel_restarts(ready, folder, corrected):
    wanted = "Restart the kernel, then run all cells again: labkit changes."
    cell = unpack(corrected, folder)
    assert ready.says(f"import labkit\n{cell}", folder) == wanted
    assert ready.says(USE, folder).split()[0] == edition_of(FIRST).version
    unpack(edition_of(FIRST), folder)


def test_without_a_network_pips_last_error_is_shown(ready, corrected, folder, tmp_path):
    for cell, place in (
        (first_cell(corrected.notebook(NOWHERE)), tmp_path),
        (unpack(corrected, folder), folder),
    ):
        said = ready.says(cell, place, PIP_NO_DEPS="0")
        assert said.startswith(
            "pip could not install labkit. Check the network, then run this cell again. "
            "If that does not help, show this line to the course staff: ERROR: "
        )
    unpack(edition_of(FIRST), folder)


def test_the_repositorys_notebook_takes_its_lab_and_no_other(ready, folder, tmp_path):
    assert ready.says(repository_cell(FIRST), tmp_path).endswith("is ready.")
    unpack(edition_of(SECOND), folder)
    assert ready.says(repository_cell(SECOND), tmp_path).startswith("The labkit of lab 02 is not")
    assert ready.says(repository_cell(SECOND), folder).endswith("is installed.")


def test_the_source_is_left_alone(ready, tmp_path):
    for cell in (repository_cell(SECOND), first_cell(edition_of(SECOND).notebook(""))):
        said = ready.says(cell, tmp_path, PYTHONPATH=str(REPOSITORY))
        assert said == f"labkit runs from its source in {REPOSITORY / 'labkit'}."
    (tmp_path / "labkit").mkdir()
    (tmp_path / "labkit/__init__.py").write_bytes(code_files(FIRST)["labkit/__init__.py"])
    said = ready.says(repository_cell(SECOND), tmp_path)
    assert said == f"labkit runs from its source in {tmp_path / 'labkit'}."


def test_a_notebook_shows_the_sentences_without_a_traceback(tmp_path):
    cell = first_cell(edition_of(FIRST).notebook(""))
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK], input=cell, cwd=tmp_path, capture_output=True, text=True
    )
    wanted = f"The labkit of lab 01 is not installed. {PUT.format(folder=tmp_path)}"
    assert (done.stdout + done.stderr).strip() == wanted
