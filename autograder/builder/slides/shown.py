"""What an experiment shows, where it needs only records and the lab's own answers."""

import ast
import io
import re
from contextlib import redirect_stdout
from html import escape
from importlib import import_module
from typing import Any

from autograder.builder.source import Lab, SourceCell
from autograder.imports import needed_modules
from labkit.measuring.plots import CourseFigure, strip_html
from labkit.measuring.records import recorded_results
from labkit.measuring.tables import Tables

LINES = 24  # of printed text on a slide
MEASURES = re.compile(
    r"labkit\.(labs\.\w+\.(experiments|runs)|measuring\.(profiles|provenance|timing))|time$"
)
ANSWERED = "labkit.labs.papers.questions"  # what it shows without a question are all answers


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

    def shown(self, cell: SourceCell) -> list[str] | None:
        """HTML of what the cell prints and shows, in parts; None if it needs a measurement.

        Output about records of the student's own machine is left out.
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
            return None
        printed, values = io.StringIO(), []
        if isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            last.value = ast.Call(ast.Name("display", ast.Load()), [last.value], [])
        names = {**self._names, "display": lambda *found, **_: values.extend(found)}
        try:
            with redirect_stdout(printed):
                exec(compile(ast.fix_missing_locations(tree), cell.name, "exec"), names)
        except (NameError, KeyError) as error:
            self._names = without
            return None if isinstance(error, NameError) else []  # measured, or this machine's
        self._names = names
        lines = printed.getvalue().splitlines()
        texts = ["\n".join(lines[i : i + LINES]) for i in range(0, len(lines), LINES)]
        parts = [f"<pre>{escape(text)}</pre>" for text in texts]
        return parts + [part for value in values for part in _parts(value)]


def _module(value: Any) -> str:
    return getattr(value, "__module__", None) or getattr(value, "__name__", None) or ""


def _parts(value: Any) -> list[str]:
    """A figure, the moments of a player, or each of some tables."""
    if moments := value.moments() if hasattr(value, "moments") else []:
        return [strip_html([moment.for_screen() for moment in moments], sharpness=2)]
    if isinstance(value, CourseFigure):
        value.for_screen()
    if isinstance(value, CourseFigure) or hasattr(value, "children"):
        return [value._repr_mimebundle_()[0].get("text/html", "")]
    if isinstance(value, Tables):
        return [table._repr_html_() for table in value]
    return [value._repr_html_()] if hasattr(value, "_repr_html_") else []
