"""What students of a lab get, as one edition: a notebook, two wheels, a version that pip compares.

`labkit-0.1.0+lab01.2.h3fa9c1d2` is revision 2 of lab 1; the digits are of all that is in it. The
data of all labs is a wheel of its own, which is installed once.
"""

import json
from dataclasses import dataclass
from functools import cache

from nbformat.v4 import new_markdown_cell

from autograder.builder.ai import agents
from autograder.builder.colab import badge, colab_address
from autograder.builder.notebooks import (
    build_notebook,
    edition_prefix,
    install_code,
    played_torch,
    to_bytes,
)
from autograder.builder.pages import pages, with_links
from autograder.builder.source import Lab, read_project, settings_files
from autograder.builder.wheel import Wheel, code_files, data_files, pack_wheel, packages_needed
from autograder.errors import Refusal
from autograder.files import zip_bytes
from autograder.labs import part_of
from autograder.signing import signature_of

NOTEBOOK = "notebooks/{}.ipynb"  # below the address of a released course
NOTE = """\
REQUIREMENTS
Python {python} or newer, a network, and about 10 minutes for the first lab. You need 2 GB of free
disk, or 7 GB on Linux with an NVIDIA GPU. You do not need a GPU.

FIRST STEPS
Unpack all files of this zip into one folder. Open a terminal in that folder and run three commands.

Linux and macOS:
    python3 -m venv labs
    labs/bin/pip install jupyterlab ipywidgets
    labs/bin/jupyter lab

Windows:
    py -m venv labs
    labs\\Scripts\\pip install jupyterlab ipywidgets
    labs\\Scripts\\jupyter lab

JupyterLab opens in the browser. Open the notebook there and run its first cell. It installs the
two .whl files and what they need, such as PyTorch. For the next lab, unpack its zip into the same
folder and run the third command alone.

If "python3 -m venv" fails on Debian or Ubuntu, run "sudo apt install python3-venv" first.

On Linux without an NVIDIA GPU, the first cell takes PyTorch for the CPU, which is much smaller. If
you install PyTorch yourself there, the command is:
    labs/bin/pip install {torch} --index-url https://download.pytorch.org/whl/cpu

COLAB
There are no commands to run. Upload the notebook (File, Upload notebook). Click the folder symbol
on the left, upload the two .whl files and the .json file. Then run the first cell.

OTHER FILES
glossary.html explains the words of the labs, course.html has the rules, and reading.html lists what
to read. AGENTS.md tells AI assistants what the course allows in this lab. Assistants that work in a
folder read it there. If you use another one, begin the chat with its text.

A NEWER EDITION
If you have begun this lab with an older zip, keep your notebook. Copy the two .whl files and the
.json file beside it, restart the kernel and run the first cell.
"""
# As Colab itself marks its badge, so that it replaces ours where a copy is saved to GitHub.
COLABS_OWN = {"id": "view-in-github", "metadata": {"id": "view-in-github", "colab_type": "text"}}


@dataclass(frozen=True)
class Edition:
    """One lab as it is released. wheels: the data first, which the student's labkit requires."""

    lab: Lab
    wheels: tuple[Wheel, Wheel]

    @property
    def version(self) -> str:
        """The version of the student's labkit."""
        return self.wheels[1].version

    def listed(self) -> bytes:
        """The content of that file: version and SHA-256 by package, and the course's signature.

        Raises: Refusal if the course has a key, and its secret half is not here.
        """
        wheels = self._wanted()
        return (json.dumps({"wheels": wheels, "signature": signature_of(wheels)}) + "\n").encode()

    def notebook(self, address: str) -> bytes:
        """The student's notebook; its first cell wants this edition, from here if not beside it."""
        cell = install_code(self.lab, address, self._wanted())
        notebook = build_notebook(self.lab, "student", cell)
        for one in notebook.cells:
            if one.cell_type == "markdown":
                one.source = with_links(one.source, address)
        if link := colab_address(address, NOTEBOOK.format(self.lab.name)):
            notebook.cells.insert(0, new_markdown_cell(badge(link), **COLABS_OWN))
        return to_bytes(notebook)

    def zipped(self, address: str) -> bytes:
        """All that a student needs without a network, as one zip."""
        files = {f"{self.lab.name}.ipynb": self.notebook(address), "README.txt": _note()}
        files |= {wheel.file_name: wheel.content for wheel in self.wheels}
        files |= {name: page.encode() for name, page in pages().items()}
        files[agents.NAME] = agents.agents_file(self.lab).encode()
        return zip_bytes({**files, list_name(self.lab): self.listed()})

    def _wanted(self) -> dict[str, tuple[str, str]]:
        return {wheel.package: (wheel.version, wheel.sha256) for wheel in self.wheels}


def edition_of(lab: Lab, *, explained: bool = False) -> Edition:
    """The edition of a lab, from the sources.

    explained: with the reasons of the lab's key, if it has one, for the days after the deadline.
    Raises: Refusal if course.toml has changed since the last `autograder build`.
    """
    for path, content in settings_files().items():
        if not path.exists() or path.read_bytes() != content:
            raise Refusal(f"{path.name} is not what course.toml says: run `autograder build`")
    key = part_of(lab.topic, "key") if explained else None
    files = code_files(lab) | (key.explanations() if key else {})
    data = data_wheel()
    labkit = pack_wheel(
        "labkit",
        edition_prefix(lab),
        files,
        requires=[*packages_needed(files), f"labkit-data=={data.version}"],
        along=to_bytes(build_notebook(lab, "student", "any first cell")),
    )
    return Edition(lab, (data, labkit))


def _note() -> bytes:
    """README.txt of a zip, with line ends that every editor shows."""
    oldest = read_project()["requires-python"].removeprefix(">=")
    text = NOTE.format(python=oldest, torch=played_torch())
    return text.replace("\n", "\r\n").encode()


def list_name(lab: Lab) -> str:
    """The name of the file that says which edition of a lab was released last."""
    return f"labkit-lab{lab.number:02d}.json"


def revision_of(version: str) -> int:
    """The revision in the version of a student's labkit. Raises: ValueError if there is none."""
    return int(version.partition("+")[2].split(".")[1])


@cache
def data_wheel() -> Wheel:
    """The data of all labs, with the weights of the small models."""
    files = {"labkit_data/__init__.py": b'"""The data of labkit."""\n', **data_files("labkit_data")}
    return pack_wheel("labkit_data", f"{read_project()['version']}+", files)
