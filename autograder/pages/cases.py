"""A hidden case as a notebook cell: the exact input, what was expected, and what came."""

import base64
import math
import pickle
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from autograder.builder.source import find_lab
from autograder.errors import Refusal
from autograder.labs import cases_of
from autograder.record.results import CheckResult, Result
from labkit.checks.core import HIDDEN, Check, checks_of

PLAIN = (type(None), bool, int, str, bytes)
BRACKETS = {list: "[]", tuple: "()", set: "{}"}
WIDTH = 96


class NoCaseError(Refusal):
    """There is no hidden case to show; the message says why."""


def case_cells(
    results: Sequence[Result], exercise: str, check: str = "", student: str = ""
) -> list[str]:
    """A cell for each check of an exercise, or of the one check.

    student: whose failed checks; else each check with the case at which most students fail. Each
    submission has its own values there, so the cell has those of one.
    Raises: NoCaseError.
    """
    lab = results[0].lab
    known = checks_of(find_lab(lab).topic)
    if exercise not in known:
        raise NoCaseError(f"{lab} has no exercise {exercise!r}; there are {', '.join(known)}")
    names = [each.name for each in known[exercise]]
    if check and check not in names:
        raise NoCaseError(f"{exercise} has no check {check!r}; there are {', '.join(names)}")
    own = [result for result in results if student in ("", result.student)]
    if not own:
        raise NoCaseError(f"there is no result of {student!r} for {lab}")
    failed = [
        (result, found)
        for result in own
        for found in result.checks
        if found.exercise == exercise and found.status == "failed" and check in ("", found.check)
    ]
    if student and not failed:
        raise NoCaseError(_nothing_failed(own[0], exercise, check))
    any_one = next((result for result in own if result.seed), own[0])
    cells = []
    for name in names:
        here = [pair for pair in failed if pair[1].check == name]
        if here or (not student and check in ("", name)):
            cells.append(_cell_of(any_one, exercise, name, here))
    return cells


def _nothing_failed(own: Result, exercise: str, check: str) -> str:
    """Why there is nothing to show of a student, and of which exercises there is."""
    here = [each for each in own.checks if each.exercise == exercise]
    others = dict.fromkeys(each.exercise for each in own.checks if each.status == "failed")
    if not here:
        what = f"the checks of {exercise} did not run on the file of {own.student}"
    elif all(each.status == "todo" for each in here):
        what = f"{own.student} has not written {exercise}"
    else:
        what = f"{own.student} fails no check of {exercise}"
        what = f"{what} called {check}" if check else what
    return f"{what}; failed checks are in {', '.join(others)}" if others else what


def cell_of_finding(result: Result, found: CheckResult) -> str:
    """The cell for a failed check of a submission; "" if no hidden case is known for it."""
    is_hidden = found.case >= 0 and found.message.startswith(HIDDEN)
    if found.status != "failed" or not is_hidden or not result.seed:
        return ""
    return _cell(result, found.exercise, found.check, found.case, [])


def source_of(value: Any, imports: set[str]) -> str:
    """An expression for a value. imports: takes the modules that it needs.

    What has no expression of its own is pickled.
    """
    match value:
        case float():
            return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
        case dict():
            pairs = [f"{source_of(k, imports)}: {source_of(v, imports)}" for k, v in value.items()]
            return f"{{{', '.join(pairs)}}}"
        case ModuleType():
            imports.add(value.__name__)
            return value.__name__
        case SimpleNamespace():
            imports.add("types")
            return f"types.SimpleNamespace({_keywords(vars(value), imports)})"
    kind = type(value)
    if kind in PLAIN:
        return repr(value)
    if kind in BRACKETS and (value or kind is not set):
        first, last = BRACKETS[kind]
        inside = ", ".join(source_of(each, imports) for each in value)
        comma = "," if kind is tuple and len(value) == 1 else ""
        return f"{first}{inside}{comma}{last}"
    if kind.__module__ == "torch" and kind.__name__ == "dtype":
        imports.add("torch")
        return str(value)
    if kind is type and value.__module__ == "builtins":
        return value.__name__
    if isinstance(value, type | FunctionType) and "<" not in value.__qualname__:
        imports.add(value.__module__)
        return f"{value.__module__}.{value.__qualname__}"
    if is_dataclass(kind) and "<" not in kind.__qualname__:
        given = {field.name: getattr(value, field.name) for field in fields(kind) if field.init}
        return f"{source_of(kind, imports)}({_keywords(given, imports)})"
    if isinstance(value, tuple) and hasattr(kind, "_asdict"):  # a named tuple
        return f"{source_of(kind, imports)}({_keywords(value._asdict(), imports)})"
    imports |= {"base64", "pickle"}
    return f"pickle.loads(base64.b64decode({base64.b64encode(pickle.dumps(value))!r}))"


def _keywords(values: Mapping[str, Any], imports: set[str]) -> str:
    return ", ".join(f"{name}={source_of(value, imports)}" for name, value in values.items())


def _cell_of(
    any_one: Result, exercise: str, check: str, failed: Sequence[tuple[Result, CheckResult]]
) -> str:
    """any_one: whose case is shown if nobody has failed."""
    places = Counter(found.case for _, found in failed if found.case >= 0)
    place = places.most_common(1)[0][0] if places else _first(any_one, exercise, check)
    here = [pair for pair in failed if pair[1].case in (place, -1)]
    text = f"{len(here)} students fail at this case, each with values of their own."
    remarks = [text] if len(here) > 1 else []
    remarks += [f"{result.student}: {found.message}" for result, found in here[:1]]
    return _cell(here[0][0] if here else any_one, exercise, check, place, remarks)


def _first(result: Result, exercise: str, check: str) -> int:
    topic = find_lab(result.lab).topic
    cases = cases_of(topic, result.seed)[exercise]
    applies = _check(topic, exercise, check).applies_to
    return next(i for i, case in enumerate(cases) if applies(case))


def _cell(result: Result, exercise: str, check: str, place: int, remarks: Sequence[str]) -> str:
    if not result.seed:
        raise NoCaseError(f"no hidden cases are on record for {result.student}: grade again")
    topic = find_lab(result.lab).topic
    case = cases_of(topic, result.seed)[exercise][place]
    head = [
        f"{result.lab}, {exercise}, check {check}",
        f"Hidden case {place + 1}: {case}",
        *remarks,
    ]
    if getattr(case, "is_own", False):
        head.append("The check reads an answer of the student's own. No input is hidden.")
    comment = "\n".join(f"# {line}" for text in head for line in textwrap.wrap(text, WIDTH))
    if getattr(case, "is_own", False):
        return comment
    imports: set[str] = set()
    try:
        made = source_of(case, imports)
    except (pickle.PicklingError, TypeError, AttributeError):
        return f"{comment}\n# This case holds objects that no cell can make."
    return "\n".join(
        [
            comment,
            "from labkit.checks.replay import replay",
            "",
            "",
            "def hidden_case():",
            *(f"    import {module}" for module in sorted(imports)),
            "",
            f"    return {made}",
            "",
            "",
            f'calls = replay("{topic}", "{check}", hidden_case(), globals())',
        ]
    )


def _check(topic: str, exercise: str, name: str) -> Check:
    return next(check for check in checks_of(topic)[exercise] if check.name == name)
