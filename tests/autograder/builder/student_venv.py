"""A student's environment without a package index, and the zip of a lab unpacked there."""

import io
import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import distribution

WITHOUT_INDEX = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_NO_DEPS": "1",
    "PIP_NO_INDEX": "1",
    "PIP_RETRIES": "0",
    "PIP_NO_CACHE_DIR": "1",
    "PIP_NO_COMPILE": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
AS_IN_A_KERNEL = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "PYTHON_COLORS": "0"}  # of ipykernel


class Environment:
    """A student's environment; what labkit needs from the package index counts as there."""

    def __init__(self, folder, *options):
        command = [sys.executable, "-m", "venv", "--without-pip", *options, folder]
        subprocess.run(command, check=True)
        self.python = folder / "bin" / "python"
        (self.packages,) = folder.glob("lib/*/site-packages")
        (self.packages / "pip").symlink_to(distribution("pip").locate_file("pip"))  # for speed
        self.pretend("torch", "2.5.1")
        self.pretend("ipywidgets", "8.0.0")
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.variables = kept | WITHOUT_INDEX | AS_IN_A_KERNEL | {"no_proxy": "127.0.0.1"}

    def run(self, code, folder, **variables):
        """What a fresh process that runs code in a folder prints, on both channels."""
        done = subprocess.run(
            [self.python, "-c", code], cwd=folder, env=self.variables | variables,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        return done.stdout

    def says(self, code, folder, **variables):
        """The last line of it, or the sentences that stopped the cell."""
        *_, last = self.run(code, folder, **variables).strip().splitlines()
        return last.removeprefix("install_labkit.<locals>.Stop: ")

    def holds(self, edition):
        """Whether an edition's labkit is what is installed."""
        return (self.packages / f"labkit-{edition.version}.dist-info").exists()

    def pretend(self, name, version):
        """Let a library count as installed."""
        folder = self.packages / f"{name}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")


def first_cell(notebook):
    cells = json.loads(notebook)["cells"]
    return next("".join(cell["source"]) for cell in cells if cell["id"] == "install")


def unpack(edition, folder):
    """Unpack a lab's zip as a student does; returns the notebook's first cell."""
    with zipfile.ZipFile(io.BytesIO(edition.zipped(""))) as archive:
        archive.extractall(folder)
    return first_cell((folder / f"{edition.lab.name}.ipynb").read_text())
