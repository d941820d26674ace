"""A student's own code as a page shows it: numbered lines, without the docstrings of the task."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from autograder.names import parsed

MAX_LINES, MAX_CHARS = 200, 200
FEWEST_FOLDED = 3
NAMED_LINE = re.compile(r"\bline (\d{1,4})\b")


@dataclass(frozen=True)
class Line:
    """A line of a cell. number: 0 for a line that stands for others; is_named: by a message."""

    number: int
    text: str
    is_named: bool = False


def shown_lines(source: str, messages: Iterable[str] = ()) -> list[Line]:
    """The lines of a cell, without long docstrings; the lines that messages name are marked."""
    named = {int(number) for message in messages for number in NAMED_LINE.findall(message)}
    folded = _docstrings(source)
    lines: list[Line] = []
    for number, text in enumerate(source.rstrip().splitlines(), 1):
        if number not in folded:
            lines.append(Line(number, text[:MAX_CHARS], number in named))
        elif number - 1 not in folded:
            indent = " " * (len(text) - len(text.lstrip()))
            lines.append(Line(0, f"{indent}… the docstring"))
    if len(lines) > MAX_LINES:
        return [*lines[:MAX_LINES], Line(0, f"… and {len(lines) - MAX_LINES} more lines")]
    return lines


def _docstrings(source: str) -> set[int]:
    """The lines of all docstrings of at least FEWEST_FOLDED lines; none if it does not parse."""
    tree = parsed(source)
    return {line for node in ast.walk(tree) for line in _docstring_of(node)} if tree else set()


def _docstring_of(node: ast.AST) -> Iterator[int]:
    match node:
        case ast.FunctionDef(body=body) | ast.ClassDef(body=body):
            match body[0]:
                case ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=last):
                    if last - first + 1 >= FEWEST_FOLDED:
                        yield from range(first, last + 1)
