"""Why a name is missing: what became of the cells that should have bound it."""

import re
from collections.abc import Mapping, Sequence

from nbformat import NotebookNode

from autograder.intake.steps import Step
from labkit.checks.names import bound_names, used_names
from labkit.checks.packages import GIVEN

MAX_ERROR_CHARS = 200
OWN_LINE = re.compile(r"(?:ipython-input|Cell In).*?\bline (\d+)")
PLACE = re.compile(r" \((?:<ipython-input|<unknown|Cell In|\w+\.py).*?line (\d+)\)$")


def error_of(outputs: Sequence[NotebookNode]) -> str:
    """The exception that ended a cell and its line, "" if none did. The text is the student's."""
    errors = [output for output in outputs if output.output_type == "error"]
    if not errors:
        return ""
    name, text = errors[-1].ename, errors[-1].evalue.split("\n")[0]
    lines = OWN_LINE.findall("\n".join(errors[-1].traceback)) or PLACE.findall(text)
    said = ": ".join(filter(None, (name, PLACE.sub("", text)[:MAX_ERROR_CHARS])))
    told = f"{said} (line {lines[0]})" if lines else said
    return f"{told}; a cell can import {GIVEN}" if name == "ModuleNotFoundError" else told


def why_unbound(
    name: str, steps: Sequence[Step], ends: Mapping[int, str], left_out: Mapping[int, str]
) -> str:
    """What happened to the last step that binds `name`, by position; "" if all went well."""
    for position in reversed(range(len(steps))):
        step = steps[position]
        if name not in step.source or name not in bound_names(step.source):
            continue
        where = "a given cell" if step.index is None else f"cell {step.index + 1}"
        if position in left_out:
            return f"{where} should define it, but did not run to its end: {left_out[position]}"
        if position in ends:
            return f"{where} should define it, but {ends[position]}"
    return ""


def needed_by_answers(steps: Sequence[Step]) -> set[int]:
    """The positions of the answers, and of all that binds a name which one of these reads."""
    defined = [bound_names(step.source) for step in steps]
    needed = {i for i, step in enumerate(steps) if step.is_marked}
    todo = list(needed)
    while todo:
        used = used_names(steps[todo.pop()].source)
        new = [i for i, names in enumerate(defined) if names & used and i not in needed]
        needed.update(new)
        todo += new
    return needed
