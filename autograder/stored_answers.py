"""Answers that were clicked: found in a submitted notebook's outputs, put into its code.

The outputs are hostile. Of each only known letters or finite numbers are taken, for a name that its
own cell assigns, and only as text that stands for them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from autograder.master import Master
from autograder.names import defined_names
from autograder.read import SubmittedCell
from labkit.own_numbers import folded
from labkit.papers import item_of, items
from labkit.papers_answers import both, code_line, is_blank
from labkit.papers_store import answers_in

_COMPUTED = object()  # stands for a value that only running the cell would give


def with_stored_answers(
    master: Master, submitted: Sequence[SubmittedCell]
) -> tuple[list[SubmittedCell], list[str]]:
    """The cells with clicked answers in their code, and notes on those that do not count.

    A blank answer is filled in; one that says something else keeps both.
    """
    asked = {cell.name for cell in master.of_kind("answer")}
    asked &= {name for item in items().values() for name in item.answers}
    student_id = _student_id(submitted) if asked else None
    cells, notes = [], []
    for cell in submitted:
        source = cell.source
        for name, clicked_by, clicked in _stored(cell, asked):
            if student_id is not None and folded(clicked_by) != folded(student_id):
                notes.append(f"the clicked answer {name} is that of another student id")
            else:
                source = _with_answer(source, name, clicked)
        cells.append(replace(cell, source=source))
    return cells, notes


def _stored(cell: SubmittedCell, asked: set[str]) -> Iterator[tuple[str, str, Any]]:
    """Name, student id and answer of what is stored for the names that the cell is about."""
    if not asked or not cell.is_code or not cell.outputs:
        return
    own = asked & (defined_names(cell.source) | set(cell.names))
    last = {name: (name, by, answer) for name, by, answer in answers_in(cell.outputs)}
    yield from (stored for name, stored in last.items() if name in own)


def _with_answer(source: str, name: str, clicked: Any) -> str:
    """The cell's code with a clicked answer."""
    line = code_line(name, clicked)
    tree = _parsed(source)
    node = _assignment(tree, name)
    if node is None:
        return f"{line}\n{source}"
    written = _value(node)
    if is_blank(written):
        lines = source.split("\n")
        is_alone = sum(node.lineno <= other.lineno <= node.end_lineno for other in tree.body) == 1
        if is_alone:
            lines[node.lineno - 1 : node.end_lineno] = [line]
            return "\n".join(lines)
        return f"{source}\n{line}"
    if written is not _COMPUTED and both(item_of(name), written, clicked) == written:
        return source
    value = line.removeprefix(f"{name} = ")
    return f'{source}\n{name} = {{"written": {name}, "clicked": {value}}}'


def _student_id(submitted: Sequence[SubmittedCell]) -> str | None:
    """The student id that stands in the code as a text, if one does."""
    found = None
    for cell in submitted:
        if cell.is_code and "student_id" in cell.source:
            node = _assignment(_parsed(cell.source), "student_id")
            value = _value(node) if node is not None else None
            found = value if isinstance(value, str) else found
    return found


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _assignment(tree: ast.Module, name: str) -> ast.Assign | None:
    """The last statement that gives this name alone a value."""
    for node in reversed(tree.body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id == name:
                return node
    return None


def _value(node: ast.Assign) -> Any:
    try:
        return ast.literal_eval(node.value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return _COMPUTED
