"""Deliveries: the right notebook in a strange parcel, and parcels that hold no notebook."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from autograder.builder.source import find_lab
from autograder.proof.cheats import ALL, Edit, Sample, code_cell, solved_notebook
from autograder.record.results import UNGRADABLE

Delivery = Callable[[Path, bytes], object]


def packed(*members: tuple[str, bytes]) -> bytes:
    """A zip of these."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def zipped(path: Path, content: bytes) -> None:
    """A zip of the notebook, as a system packs a folder."""
    path.with_suffix(".zip").write_bytes(packed((f"homework/{path.name}", content)))


def zipped_twice(path: Path, content: bytes) -> None:
    """A zip in a zip."""
    inner = packed((path.name, content), ("__MACOSX/._x.ipynb", b"\0"))
    path.with_suffix(".zip").write_bytes(packed(("final/handin.zip", inner)))


def path_out_of_a_zip(path: Path, content: bytes) -> None:
    """Members that want to be written over the neighbour's work, and over the system's."""
    lab = path.parent.name
    names = (f"../../ada/{lab}/{lab}.ipynb", "/etc/passwd", f"..\\..\\ada\\{lab}\\{lab}.ipynb")
    path.with_suffix(".zip").write_bytes(packed(*((name, content) for name in names)))


def zip_bomb(path: Path, content: bytes) -> None:
    """A few kilobytes that unpack to a hundred megabytes, in two steps."""
    inner = packed((path.name, bytes(100 << 20)))
    path.with_suffix(".zip").write_bytes(packed(("homework.zip", inner)))


def damaged_zip(path: Path, content: bytes) -> None:
    """The upload lost some bytes in the middle."""
    data = bytearray(packed((path.name, content)))
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


def not_a_notebook(content: bytes) -> Edit:
    """A file that only has a notebook's name."""
    return lambda notebook: content


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


SAMPLES = [
    Sample("p01", "01_memory", "a zip", deliver=zipped),
    Sample("p02", "01_memory", "a zip in a zip", deliver=zipped_twice),
    Sample("p03", "01_memory", "paths out of a zip", loses=ALL, status=UNGRADABLE,
           deliver=path_out_of_a_zip),
    Sample("p04", "01_memory", "a zip bomb", loses=ALL, status=UNGRADABLE, deliver=zip_bomb),
    Sample("p05", "01_memory", "a damaged zip", loses=ALL, status=UNGRADABLE, deliver=damaged_zip),
    Sample("p06", "01_memory", "a link to the neighbour's notebook", loses=ALL, status=UNGRADABLE,
           deliver=link_to_the_neighbour),
    Sample("p07", "01_memory", "a link to the neighbour's folder", loses=ALL, status=UNGRADABLE,
           deliver=folder_of_the_neighbour),
    Sample("p08", "01_memory", "a named pipe", loses=ALL, status=UNGRADABLE, deliver=pipe),
    Sample("p09", "01_memory", "two notebooks, neither with the lab's name", loses=ALL,
           status=UNGRADABLE, deliver=named_beside("mine.ipynb", "new.ipynb")),
    Sample("p10", "01_memory", "a draft and a checkpoint beside it", deliver=with_a_draft),
    Sample("p11", "01_memory", "answers in a module beside it", deliver=answers_in_a_module),
    Sample("p12", "01_memory", "the wrong lab", of_another_lab("02_throughput"), ALL, UNGRADABLE),
    Sample("p13", "01_memory", "a PDF", not_a_notebook(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"), ALL,
           UNGRADABLE),
    Sample("p14", "01_memory", "a page that the browser saved",
           not_a_notebook(b"<!DOCTYPE html><title>01_memory.ipynb</title>"), ALL, UNGRADABLE),
    Sample("p15", "01_memory", "a notebook without cells", not_a_notebook(b'{"cells": []}'), ALL,
           UNGRADABLE),
    Sample("p16", "01_memory", "a metadata bomb", metadata_bomb),
    Sample("p17", "01_memory", "a million cells", a_million_cells, ALL, UNGRADABLE),
    Sample("p18", "01_memory", "a cell of 50 MB", fifty_megabytes, ALL, UNGRADABLE),
    Sample("p19", "01_memory", "a cell of blank lines", blank_lines),
    Sample("p20", "01_memory", "an ending that a browser added",
           deliver=named_beside("01_memory.ipynb.txt")),
    Sample("x20", "01_memory", "JSON nested too deeply",
           not_a_notebook(b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"), ALL, UNGRADABLE),
]  # fmt: skip
