"""Submissions of any bytes, read and put back onto a master."""

import json
import re

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from notebook_inputs import LINE, masters

from autograder.intake.read import MAX_CODE_CHARS, Unreadable, read_notebook
from autograder.intake.rebuild import rebuild
from autograder.judging.outputs import MAX_CHARS, clean_outputs, n_chars_of
from autograder.judging.shown import fill_outputs
from autograder.names import squeeze
from labkit.checks.names import bound_names


def play_notebook(content):
    play_file(content, "work.ipynb")


def play_script(content):
    cells = play_file(content, "work.py")
    is_known = LINE in re.split(rb"[\r\n]", content) and b"\x00" not in content
    if cells is not None and is_known:
        assert LINE.decode() in "\n".join(cell.source for cell in cells).split("\n")


def play_file(content, name):
    """Cells or Unreadable; what is read re-reads equal, and is rebuilt with nothing lost."""
    try:
        cells = read_notebook(content, name)
    except Unreadable as unreadable:
        assert str(unreadable)
        return None
    for cell in cells:
        assert not set("\x00\r") & set(cell.source)
        cell.source.encode()
    assert sum(len(cell.source) for cell in cells if cell.is_code) <= MAX_CODE_CHARS
    assert read_notebook(content, name) == cells
    assert read_notebook(as_notebook(cells), "again.ipynb") == cells
    for master in masters():
        rebuilt = rebuild(master, cells)
        check_locked(master, rebuilt)
        check_nothing_lost(master, cells, rebuilt)
        fill_outputs(rebuilt.notebook, {}, [], {i: cell.outputs for i, cell in enumerate(cells)})
        nbformat.validate(new_notebook(cells=rebuilt.notebook))
        json.dumps(rebuilt.notebook).encode()
    return cells


def as_notebook(cells):
    """The cells as a notebook file that says the same."""
    nodes = []
    for cell in cells:
        names = iter([*cell.names, *[None] * 4])
        metadata = {"nbgrader": {"grade_id": next(names)}}
        if not cell.is_foreign:
            metadata["labkit"] = {"name": next(names)}
        node = {
            "cell_type": "code" if cell.is_code else "markdown",
            "source": cell.source.splitlines(keepends=True),
            "id": next(names),
            "metadata": {**metadata, "id": next(names)},
            "outputs": cell.outputs,
            "attachments": cell.attachments,
        }
        nodes.append(node)
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": nodes}).encode()


def check_locked(master, rebuilt):
    """What is not the student's to write is the master's, in its order."""
    locked = [cell.node for cell in master.cells if not cell.is_open]
    shown = [node for node in rebuilt.notebook if "submitted" not in node.metadata]
    assert [(node.source, node.metadata) for node in shown] == [
        (node.source, node.metadata) for node in locked
    ]
    given = [step.source for step in rebuilt.steps if step.index is None]
    assert given == [cell.source for cell in master.of_kind("given")]


def check_nothing_lost(master, cells, rebuilt):
    """Whatever is not the master's own text is shown; code runs once, in the student's order."""
    given = {squeeze(cell.source) for cell in master.cells}
    shown = {node.metadata.get("submitted") for node in rebuilt.notebook}
    indices = [step.index for step in rebuilt.steps if step.index is not None]
    assert indices == sorted(indices)
    for i, cell in enumerate(cells):
        is_own = squeeze(cell.source) not in given and not cell.source.lstrip().startswith("check")
        if not is_own or not cell.source.strip():
            continue
        assert i in shown
        parts = [step.source for step in rebuilt.steps if step.index == i]
        if cell.is_code and not set(parts) & given:
            assert parts
            assert bound_names(cell.source) <= set().union(*map(bound_names, parts))


def play_outputs(content):
    """Outputs of any JSON become outputs that validate, are bounded and stay as they are."""
    try:
        outputs = json.loads(content)
    except (ValueError, RecursionError):
        return
    cleaned = clean_outputs(outputs)
    cell = new_code_cell("", id="a")
    cell.outputs = cleaned
    nbformat.validate(new_notebook(cells=[cell]))
    assert n_chars_of(cleaned) <= MAX_CHARS + 200
    text = json.dumps(cleaned)
    assert "text/html" not in text and "javascript" not in json.dumps(
        [o.get("data") for o in cleaned]
    )
    assert clean_outputs(json.loads(text)) == cleaned
