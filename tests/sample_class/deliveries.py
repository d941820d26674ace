"""Deliveries: the right notebook in a strange parcel, and parcels that hold no notebook."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from autograder.builder.source import find_lab
from autograder.files import zip_bytes
from autograder.practice import ALL, Edit, Sample, code_cell, solved_notebook
from autograder.record.results import UNGRADABLE

Delivery = Callable[[Path, bytes], object]


def zipped(path: Path, content: bytes) -> None:
    """A zip of the notebook, as a system packs a folder."""
    path.with_suffix(".zip").write_bytes(zip_bytes({f"homework/{path.name}": content}))


def zipped_twice(path: Path, content: bytes) -> None:
    """A zip in a zip."""
    inner = zip_bytes({path.name: content, "__MACOSX/._x.ipynb": b"\0"})
    path.with_suffix(".zip").write_bytes(zip_bytes({"final/handin.zip": inner}))


def path_out_of_a_zip(path: Path, content: bytes) -> None:
    """Members that want to be written over the neighbour's work, and over the system's."""
    lab = path.parent.name
    names = (f"../../ada/{lab}/{lab}.ipynb", "/etc/passwd", f"..\\..\\ada\\{lab}\\{lab}.ipynb")
    path.with_suffix(".zip").write_bytes(zip_bytes(dict.fromkeys(names, content)))


def zip_bomb(path: Path, content: bytes) -> None:
    """A few kilobytes that unpack to a hundred megabytes, in two steps."""
    inner = zip_bytes({path.name: bytes(100 << 20)})
    path.with_suffix(".zip").write_bytes(zip_bytes({"homework.zip": inner}))


def damaged_zip(path: Path, content: bytes) -> None:
    """The upload lost some bytes in the middle."""
    data = bytearray(zip_bytes({path.name: content}))
    data[200:260] = bytes(60)
    path.with_suffix(".zip").write_bytes(data)


def link_to_the_neighbour(path: Path, content: bytes) -> None:
    """A symbolic link to what somebody else hands in."""
    path.symlink_to(Path("..", "..", "ada", path.parent.name, path.name))


def folder_of_the_neighbour(path: Path, content: bytes) -> None:
    """The whole folder is a link."""
    path.parent.rmdir()
    path.parent.symlink_to(Path("..", "ada", path.parent.name))


def pipe(path: Path, content: bytes) -> None:
    """A named pipe, which would keep a reader waiting for ever."""
    os.mkfifo(path)


def named_beside(*names: str) -> Delivery:
    """Copies of the notebook under other names."""

    def deliver(path: Path, content: bytes) -> None:
        for name in names:
            path.with_name(name).write_bytes(content)

    return deliver


def with_a_draft(path: Path, content: bytes) -> None:
    """The notebook, an empty one that a click made, and a checkpoint of an old one."""
    path.write_bytes(content)
    path.with_name("Untitled.ipynb").write_bytes(b'{"cells": [], "nbformat": 4}')
    checkpoint = path.parent / ".ipynb_checkpoints" / path.name
    checkpoint.parent.mkdir()
    checkpoint.write_bytes(b"an old state")


def answers_in_a_module(path: Path, content: bytes) -> None:
    """The functions are in a file beside the notebook, which imports them."""
    notebook = json.loads(content)
    names = [cell.name for cell in find_lab(path.stem).marked if cell.kind == "exercise"]
    module = ["from labkit.memory import *"]
    for cell in notebook["cells"]:
        if cell["source"].startswith("def "):
            module.append(cell["source"])
            cell["source"] = "from answers import *"
    assert len(module) > len(names)
    path.with_name("answers.py").write_text("\n\n".join(module))
    path.write_text(json.dumps(notebook))


def of_another_lab(other: str) -> Edit:
    """The notebook of another lab, solved."""
    return lambda notebook: json.dumps(solved_notebook(find_lab(other))).encode()


def metadata_bomb(notebook: dict) -> None:
    """Twenty megabytes of metadata, some of it nested as deep as JSON allows."""
    notebook["metadata"]["widgets"] = {str(i): ["x" * 90] * 9 for i in range(20_000)}
    nested: list = []
    for _ in range(400):
        nested = [nested]
    notebook["cells"][0]["metadata"]["nested"] = nested


def a_million_cells(notebook: dict) -> bytes:
    """Cells without end, none of which holds anything."""
    return b'{"nbformat": 4, "cells": [' + b"{}," * 10**6 + b"{}]}"


def fifty_megabytes(notebook: dict) -> None:
    """One cell that is larger than any file may be."""
    notebook["cells"].append(code_cell("#" * (50 << 20)))


def blank_lines(notebook: dict) -> None:
    """A cell of blank lines, on which a careless pattern takes hours."""
    notebook["cells"].append(code_cell("\n" * 190_000 + "1"))


# A file that only has a notebook's name.
FOREIGN = {
    "p13": ("a PDF", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"),
    "p14": ("a page that the browser saved", b"<!DOCTYPE html><title>01_memory.ipynb</title>"),
    "p15": ("a notebook without cells", b'{"cells": []}'),
    "x20": ("JSON nested too deeply", b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
}
taken = partial(Sample, lab="01_memory")
refused = partial(Sample, lab="01_memory", loses=ALL, status=UNGRADABLE)

SAMPLES = [
    taken("p01", about="a zip", deliver=zipped),
    taken("p02", about="a zip in a zip", deliver=zipped_twice),
    refused("p03", about="paths out of a zip", deliver=path_out_of_a_zip),
    refused("p04", about="a zip bomb", deliver=zip_bomb),
    refused("p05", about="a damaged zip", deliver=damaged_zip),
    refused("p06", about="a link to the neighbour's notebook", deliver=link_to_the_neighbour),
    refused("p07", about="a link to the neighbour's folder", deliver=folder_of_the_neighbour),
    refused("p08", about="a named pipe", deliver=pipe),
    refused("p09", about="two notebooks, neither with the lab's name",
            deliver=named_beside("mine.ipynb", "new.ipynb")),
    taken("p10", about="a draft and a checkpoint beside it", deliver=with_a_draft),
    taken("p11", about="answers in a module beside it", deliver=answers_in_a_module),
    refused("p12", about="the wrong lab", make=of_another_lab("02_throughput")),
    taken("p16", about="a metadata bomb", make=metadata_bomb),
    refused("p17", about="a million cells", make=a_million_cells),
    refused("p18", about="a cell of 50 MB", make=fifty_megabytes),
    taken("p19", about="a cell of blank lines", make=blank_lines),
    taken("p20", about="an ending that a browser added",
          deliver=named_beside("01_memory.ipynb.txt")),
    *(refused(student, about=about, make=lambda notebook, content=content: content)
      for student, (about, content) in FOREIGN.items()),
]  # fmt: skip
