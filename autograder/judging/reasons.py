"""Why a name is missing, and why code that is right elsewhere fails here."""

import importlib.util
import re
import sys
from collections.abc import Mapping, Sequence

from nbformat import NotebookNode

from autograder.intake.steps import Step
from labkit.checks.names import bound_names, used_names
from labkit.checks.packages import GIVEN, PACKAGES

MAX_ERROR_CHARS = 200
OWN_LINE = re.compile(r"(?:ipython-input|Cell In).{0,100}?\bline (\d+)")
PLACE = re.compile(r" \((?:<ipython-input|<unknown|Cell In|\w+\.py).{0,100}?line (\d+)\)$")
NO_PACKAGE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
NO_NAME = re.compile(
    r"ImportError: cannot import name '(?P<name>\w+)' from '(?P<module>\w+)"
    r"|AttributeError: module '(?P<owner>\w++)[\w.]*' has no attribute '(?P<attribute>\w+)'"
)
# Spaces and tabs alone, as in labkit.checks.names.MAGIC.
GENERIC = re.compile(
    r"^[ \t]*(?:type[ \t]+\w+[ \t]*[\[=]|(?:(?:async )?def|class)[ \t]+\w+\[)", re.MULTILINE
)
# Since that Python: what the code has, or what an older one says of it.
NEWER_SYNTAX = [
    ((3, 12), GENERIC),
    ((3, 12), re.compile(r"SyntaxError: (?:f-string|unterminated (?:f-)?string)")),
    ((3, 14), re.compile(r"SyntaxError: multiple exception types|\bt[rR]?[\"']")),
]
OTHER_PYTHON = f"Python {sys.version_info[0]}.{sys.version_info[1]} of the grader cannot read"


def error_of(outputs: Sequence[NotebookNode], source: str = "") -> str:
    """The exception that ended a cell and its line, "" if none did. The text is the student's."""
    errors = [output for output in outputs if output.output_type == "error"]
    if not errors:
        return ""
    name, text = errors[-1].ename, errors[-1].evalue.split("\n")[0]
    lines = OWN_LINE.findall("\n".join(errors[-1].traceback)) or PLACE.findall(text)
    said = ": ".join(filter(None, (name, PLACE.sub("", text)[:MAX_ERROR_CHARS])))
    told = f"{said} (line {lines[0]})" if lines else said
    if name == "ModuleNotFoundError":
        return f"{told}; a cell can import {GIVEN}"
    if name == "SyntaxError" and _is_newer(source, said):
        return f"{told}; {OTHER_PYTHON} it, a newer one may"
    return told


def _is_newer(source: str, error: str) -> bool:
    """Whether code that this Python cannot read may be right in a newer one."""
    newer = [pattern for version, pattern in NEWER_SYNTAX if sys.version_info < version]
    return any(pattern.search(text) for pattern in newer for text in (source, error))


def _is_there(module: str) -> bool:
    return module in sys.modules or importlib.util.find_spec(module) is not None


def right_elsewhere(text: str, sources: Sequence[str] = ()) -> str:
    """What the grader lacks, if that may be why code fails with this text; "" if it lacks nothing.

    The code may be right where the student has tried it: a person decides. sources: the student's
    code, which may raise such an error by hand.
    """
    if (found := NO_PACKAGE.search(text)) and not _is_there(found[1]):
        is_by_hand = _is_raised_by_hand("ModuleNotFoundError", found[1], sources)
        return "" if is_by_hand else f"the grader has no package `{found[1]}`"
    if found := NO_NAME.search(text):
        module, name = found["module"] or found["owner"], found["name"] or found["attribute"]
        is_by_hand = _is_raised_by_hand(found[0].partition(":")[0], name, sources)
        if not is_by_hand and (module in PACKAGES or module in sys.stdlib_module_names):
            return f"the grader's version of `{module}` has no `{name}`"
    return f"{OTHER_PYTHON} the cell, a newer one may" if OTHER_PYTHON in text else ""


def _is_raised_by_hand(kind: str, name: str, sources: Sequence[str]) -> bool:
    """Whether code names this kind of exception, and nowhere imports or reads the name.

    What a library fails to import is in no code of the student's, nor is the exception.
    """
    used = re.compile(
        rf"\b(?:import|from)\s[^\n'\"#]*\b{name}\b|\.\s*{name}\b"
        rf"|\b(?:import_module|__import__)\(\s*['\"]{name}\b"
    )
    is_named = any(kind in source for source in sources)
    return is_named and not any(used.search(source) for source in sources)


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
