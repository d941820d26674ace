"""Answers that were clicked: found in a submitted notebook's outputs, put into its code.

The outputs are hostile. Of each only known letters or finite numbers are taken, for a name that its
own cell assigns, and only as text that stands for them.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.intake.master import Master
from autograder.intake.read import SubmittedCell
from autograder.names import parsed
from labkit.checks.names import bound_names
from labkit.labs.papers.answers import both, code_line, is_blank
from labkit.labs.papers.items import item_of, items
from labkit.labs.papers.store import answers_in
from labkit.models.own_numbers import folded

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
        clicked = {}
        for name, clicked_by, answer in _stored(cell, asked):
            if student_id is not None and folded(clicked_by) != folded(student_id):
                notes.append(f"the clicked answer {name} is that of another student id")
            else:
                clicked[name] = answer
        cells.append(replace(cell, source=_with_answers(cell.source, clicked)) if clicked else cell)
    return cells, notes


def _stored(cell: SubmittedCell, asked: set[str]) -> Iterator[tuple[str, str, Any]]:
    """Name, student id and answer of what is stored for the names that the cell is about."""
    if not asked or not cell.is_code or not cell.outputs:
        return
    own = asked & (bound_names(cell.source) | set(cell.names))
    last = {name: (name, by, answer) for name, by, answer in answers_in(cell.outputs)}
    yield from (stored for name, stored in last.items() if name in own)


def _with_answers(source: str, clicked: Mapping[str, Any]) -> str:
    """The cell's code with the clicked answers by name."""
    statements = _statements(source)
    places = _assignments(statements)
    lines, above, below = source.split("\n"), [], []
    for name, answer in sorted(clicked.items(), key=lambda item: -places.get(item[0], -1)):
        line = code_line(name, answer)
        if name not in places:
            above.append(line)
            continue
        node = statements[places[name]]
        written = _value(node)
        if is_blank(written) and _has_lines_of_its_own(statements, places[name]):
            lines[node.lineno - 1 : node.end_lineno] = [line]
        elif is_blank(written):
            below.append(line)
        elif written is _COMPUTED or both(item_of(name), written, answer) != written:
            value = line.removeprefix(f"{name} = ")
            below.append(f'{name} = {{"written": {name}, "clicked": {value}}}')
    return "\n".join([*above, *lines, *below])


def _student_id(submitted: Sequence[SubmittedCell]) -> str | None:
    """The student id that stands in the code as a text, if one does."""
    found = None
    for cell in submitted:
        if cell.is_code and "student_id" in cell.source:
            statements = _statements(cell.source)
            place = _assignments(statements).get("student_id")
            value = None if place is None else _value(statements[place])
            found = value if isinstance(value, str) else found
    return found


def _statements(source: str) -> list[ast.stmt]:
    tree = parsed(source)
    return tree.body if tree else []


def _assignments(statements: Sequence[ast.stmt]) -> dict[str, int]:
    """Where each name is given a value last, by a statement that gives it to this name alone."""
    places = {}
    for place, node in enumerate(statements):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                places[target.id] = place
    return places


def _has_lines_of_its_own(statements: Sequence[ast.stmt], place: int) -> bool:
    node, around = statements[place], statements[max(0, place - 1) : place + 2]
    return all(
        other is node or other.end_lineno < node.lineno or other.lineno > node.end_lineno
        for other in around
    )


def _value(node: ast.Assign) -> Any:
    try:
        return ast.literal_eval(node.value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return _COMPUTED
