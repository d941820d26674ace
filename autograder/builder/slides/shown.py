"""What an experiment shows, where it needs only records and the lab's own answers."""

import ast
import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from autograder.builder.slides.text import ROOM, lead, table_height
from autograder.builder.source import Lab, SourceCell
from autograder.imports import needed_modules
from labkit.labs.screen import for_screen
from labkit.measuring.plots import CourseFigure, png_bytes
from labkit.measuring.records import recorded_results
from labkit.measuring.tables import Table, Tables

CAPTION_WORDS = 16  # of the line below a figure
FILLED = 0.888  # of a slide's height, by a figure
MEASURES = re.compile(
    r"labkit\.(labs\.\w+\.(experiments|runs)|measuring\.(profiles|provenance|timing))|time$"
)
ANSWERED = "labkit.labs.papers.questions"  # what it shows without a question are all answers


@dataclass(frozen=True)
class Shown:
    """Something that a cell shows, as HTML. kind: "figure", "table" or "player"; parts: moments."""

    kind: str
    parts: tuple[str, ...]


class Stage:
    """The names that a lab's cells have, without running what measures."""

    def __init__(self, lab: Lab) -> None:
        patterns = re.findall(r'recorded_results\("(.+?)"\)', "\n".join(c.text for c in lab.cells))
        records = recorded_results(patterns[0]) if patterns else {}
        self._answers = vars(import_module(f"labkit.{lab.topic}")) if lab.exercises else {}
        self._given = ""
        self._names: dict[str, Any] = {"records": records, "RECORDS": records}

    def add(self, cell: SourceCell) -> None:
        """A given cell, or an exercise with the reference's answer."""
        if cell.kind == "exercise":
            self._names[cell.name] = self._answers[cell.name]
        else:
            self._given += f"{cell.text}\n"
            self._run(cell.text)

    def question(self, cell: SourceCell) -> str:
        """The question that an answer's cell shows, "" if none; takes the right values."""
        self._run(cell.text)
        is_asked = f'ask("{cell.name}",' in cell.text
        return str(self._names["ask"](cell.name)) if is_asked else ""

    def _run(self, code: str) -> None:
        with redirect_stdout(io.StringIO()):
            exec(code, self._names)

    def shown(self, cell: SourceCell) -> list[Shown]:
        """What the cell shows; nothing if it needs a measurement.

        Output about records of the student's own machine is left out, and so is printed text.
        """
        tree = ast.parse(cell.text)
        used = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        assigned = {node.id for node in used if isinstance(node.ctx, ast.Store)} - {
            "records",
            "RECORDS",
        }
        without = {name: value for name, value in self._names.items() if name not in assigned}
        modules = {_module(self._names.get(node.id)) for node in used}
        modules |= {*needed_modules(f"{self._given}\n{cell.text}")} - {*needed_modules(self._given)}
        if ANSWERED in modules or any(map(MEASURES.match, modules)):
            self._names = without
            return []
        values: list[Any] = []
        if isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            last.value = ast.Call(ast.Name("display", ast.Load()), [last.value], [])
        names = {**self._names, "display": lambda *found, **_: values.extend(found)}
        try:
            with redirect_stdout(io.StringIO()):
                exec(compile(ast.fix_missing_locations(tree), cell.name, "exec"), names)
        except (NameError, KeyError):  # measured, or this machine's
            self._names = without
            return []
        self._names = names
        return [shown for value in values for shown in _shown(value)]


def _module(value: Any) -> str:
    return getattr(value, "__module__", None) or getattr(value, "__name__", None) or ""


def _shown(value: Any) -> list[Shown]:
    """A figure, the moments of a player, or each of some tables that a slide has room for."""
    moments = value.moments() if hasattr(value, "moments") else []
    if moments:
        kind = "player" if len(moments) > 1 else "figure"
        return [Shown(kind, tuple(map(_figure, moments)))]
    if isinstance(value, CourseFigure):
        return [Shown("figure", (_figure(value),))]
    tables = value if isinstance(value, Tables) else [value] if isinstance(value, Table) else []
    return [Shown("table", (each._repr_html_(),)) for each in tables if _fits(each)]


def _figure(figure: CourseFigure) -> str:
    for_screen(figure, FILLED)
    figure.caption = lead(figure.caption, CAPTION_WORDS)
    return figure.html(png_bytes(figure))


def _fits(table: Table) -> bool:
    rows = [list(table.headings), *table.lines]
    return not table.is_folded and table_height(rows) <= ROOM - 80  # for its title and its note
