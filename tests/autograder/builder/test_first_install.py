"""What the first cell installs, and what it says: an old Python, torch by machine, other labs."""

import ast
import re
import shutil
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from instances import some_of
from student_venv import Environment, first_cell, unpack

from autograder.builder.editions import edition_of
from autograder.builder.notebooks import played_torch
from autograder.builder.source import read_labs

FIRST, SECOND = read_labs()[:2]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PLAYED = played_torch().partition("==")[2]
SMALLER = "There is no NVIDIA GPU here. First comes PyTorch for the CPU, which is smaller:"
LARGER = "That did not work. The usual PyTorch comes instead: it needs 6 GB of disk."
RELOAD = "Reload this page in the browser once: sliders and players appear after that."
OLD_PYTHON = "import sys\nsys.version_info = (3, 9, 18)\nsys.modules['importlib.util'] = None\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A student's folder, with the files of the first lab's zip."""
    folder = tmp_path_factory.mktemp("student")
    unpack(edition_of(FIRST), folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def cell():
    return first_cell(edition_of(FIRST).notebook(""))


@pytest.fixture
def venv(tmp_path):
    """An environment without torch, on a machine without a GPU."""
    venv = Environment(tmp_path / "venv")
    shutil.rmtree(venv.packages / "torch-2.5.1.dist-info")
    (tmp_path / "bin").mkdir()
    venv.variables["PATH"] = str(tmp_path / "bin")
    yield venv
    shutil.rmtree(venv.packages)


class Indexes:
    """Two package indexes: the usual one, and PyTorch's for the CPU."""

    def __init__(self, folder, address):
        self.folder, self.address = folder, address

    def put(self, index, version):
        """A torch of that version, which holds nothing."""
        place = self.folder / index / "torch"
        place.mkdir(parents=True, exist_ok=True)
        name, info = f"torch-{version}-py3-none-any.whl", f"torch-{version}.dist-info"
        with zipfile.ZipFile(place / name, "w") as wheel:
            wheel.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
            )
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")
        (place / "index.html").write_text(f'<a href="{name.replace("+", "%2B")}">{name}</a>')

    def run(self, venv, cell, folder):
        """What the cell prints with these indexes."""
        own = cell.replace(CPU_INDEX, f"{self.address}/cpu")
        usual = {"PIP_INDEX_URL": f"{self.address}/usual", "PIP_NO_INDEX": "0"}
        own = own.replace("/dev/nvidiactl", str(self.folder / "nvidiactl"))
        return venv.run(own, folder, **usual)


@pytest.fixture
def indexes(tmp_path):
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    handler.log_message = lambda *words: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Indexes(tmp_path, f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()


def torch_in(venv):
    """The versions of torch that are installed."""
    found = venv.packages.glob("torch-*.dist-info")
    return [path.stem.removeprefix("torch-") for path in found]


def ends_well(printed):
    return printed.splitlines()[-1] == f"labkit {edition_of(FIRST).version} is installed."


def test_without_a_gpu_the_smaller_torch_for_the_cpu_is_installed(venv, indexes, cell, folder):
    indexes.put("cpu", f"{PLAYED}+cpu")
    indexes.put("usual", PLAYED)
    printed = indexes.run(venv, cell, folder)
    assert torch_in(venv) == [f"{PLAYED}+cpu"]
    assert SMALLER in printed and LARGER not in printed and ends_well(printed)


def test_where_that_cannot_be_reached_the_usual_one_is_and_the_cell_says_so(
    venv, indexes, cell, folder
):
    indexes.put("usual", PLAYED)
    printed = indexes.run(venv, cell, folder)
    assert torch_in(venv) == [PLAYED]
    assert SMALLER in printed and LARGER in printed and ends_well(printed)


@pytest.mark.parametrize("sign", some_of(["bin/nvidia-smi", "nvidiactl"], "nvidiactl"))
def test_with_a_gpu_the_usual_torch_is_installed(venv, indexes, cell, folder, tmp_path, sign):
    indexes.put("cpu", f"{PLAYED}+cpu")
    indexes.put("usual", PLAYED)
    (tmp_path / sign).touch(mode=0o755)
    printed = indexes.run(venv, cell, folder)
    assert torch_in(venv) == [PLAYED]
    assert SMALLER not in printed and ends_well(printed)


@pytest.mark.parametrize("system", some_of(["darwin", "win32"], "win32"))
def test_where_the_usual_torch_is_small_it_is_installed(venv, indexes, cell, folder, system):
    """On macOS and on Windows it has no GPU libraries."""
    indexes.put("cpu", f"{PLAYED}+cpu")
    indexes.put("usual", PLAYED)
    own = cell.replace("sys.platform", repr(system))
    printed = indexes.run(venv, own, folder)
    assert torch_in(venv) == [PLAYED]
    assert SMALLER not in printed and ends_well(printed)


def test_without_the_torch_that_was_played_any_torch_will_do(venv, indexes, cell, folder):
    """As for a Python that is newer than it. Here pip looks for what labkit requires no further."""
    indexes.put("usual", "2.6.0")
    assert ends_well(indexes.run(venv, cell, folder))


def test_a_torch_that_is_there_stays(venv, indexes, cell, folder):
    """Colab has one, with libraries that fit it."""
    venv.pretend("torch", "2.9.0")
    indexes.put("cpu", f"{PLAYED}+cpu")
    printed = indexes.run(venv, cell, folder)
    assert torch_in(venv) == ["2.9.0"]
    assert SMALLER not in printed and ends_well(printed)


def test_the_cell_shows_what_it_does_and_for_how_long(venv, indexes, cell, folder):
    venv.pretend("torch", "2.9.0")
    printed = indexes.run(venv, cell, folder)
    assert re.search(r"^ +\d+ s  \S", printed, re.MULTILINE), printed


def test_after_a_first_installation_of_widgets_the_page_has_to_be_reloaded(
    venv, indexes, cell, folder
):
    venv.pretend("torch", "2.9.0")
    shutil.rmtree(venv.packages / "ipywidgets-8.0.0.dist-info")
    assert RELOAD in indexes.run(venv, cell, folder)


def test_the_labkit_of_another_lab_is_replaced_and_the_cell_says_so(
    venv, indexes, cell, folder, tmp_path
):
    venv.pretend("torch", "2.9.0")
    printed = indexes.run(venv, cell, folder)
    assert "replaces" not in printed and RELOAD not in printed
    printed = indexes.run(
        venv, unpack(edition_of(SECOND), tmp_path / "second"), tmp_path / "second"
    )
    assert "It replaces the labkit of lab 01." in printed


def test_files_that_a_browser_renamed_are_found_by_their_content(venv, indexes, cell, tmp_path):
    venv.pretend("torch", "2.9.0")
    folder = tmp_path / "downloads"
    unpack(edition_of(FIRST), folder)
    for path in [*folder.glob("*.whl"), *folder.glob("*.json")]:
        path.rename(path.with_stem(f"{path.stem} (1)"))
    assert ends_well(indexes.run(venv, cell, folder))


def test_a_python_that_is_too_old_is_named_before_anything_is_imported(venv, cell, folder):
    said = venv.says(OLD_PYTHON + cell, folder)
    assert said == (
        "This notebook runs on Python 3.9.18, and the labs need Python 3.11 or newer. Install one, "
        "then begin as README.txt in the zip of the lab says."
    )


@pytest.mark.parametrize("version", [(3, 8), (3, 10)])
def test_an_old_python_can_read_the_cell(cell, version):
    ast.parse(cell, feature_version=version)


def test_the_readme_of_a_zip_says_what_is_needed_and_how_to_begin(folder):
    text = (folder / "README.txt").read_bytes().decode("ascii")
    assert text.startswith("WHAT YOU NEED\r\nPython 3.11 or newer")
    for system, bin_ in (("Linux and macOS", "labs/bin/"), ("Windows", "labs\\Scripts\\")):
        commands = text.partition(f"{system}:\r\n")[2].partition("\r\n\r\n")[0].split("\r\n")
        assert len(commands) == 3, commands
        assert commands[0].endswith(" -m venv labs")
        assert commands[1].strip() == f"{bin_}pip install jupyterlab ipywidgets"
        assert commands[2].strip() == f"{bin_}jupyter lab"
    assert f"pip install torch=={PLAYED} --index-url {CPU_INDEX}" in text
    for fact in ("2 GB", "7 GB", "10 minutes"):
        assert fact in text
