"""An instructor's own assert cells, run by the judge against proxies.

The cell stays ordinary Python. Names that the master's given cells bind are the instructor's; every
other name is asked of the student's process: plain values come by value, functions and objects as
proxies whose calls go there and back.
"""

import builtins
from collections.abc import Iterable
from typing import Any

from autograder.names import used_names
from labkit.bridge.student import MissingName, Student, StudentError, value_of
from labkit.checks.core import Unfinished, Wrong

HIDDEN_MARK = "BEGIN HIDDEN TESTS"


def given_namespace(sources: Iterable[str]) -> dict[str, Any]:
    """The names that the master's given cells bind, run here as well as in the child."""
    namespace: dict[str, Any] = {"__name__": "__tests__"}
    for source in sources:
        exec(compile(source, "<given>", "exec"), namespace)
    return namespace


def play_asserts(source: str, given: dict[str, Any], student: Student) -> None:
    """Run one assert cell. Raises Wrong at the first assert that fails, Unfinished for a stub."""
    namespace = dict(given)
    for name in sorted(used_names(source)):
        if name in namespace or hasattr(builtins, name):
            continue
        try:
            namespace[name] = value_of(getattr(student, name))
        except (MissingName, AttributeError):
            continue  # the cell binds it itself, or the NameError below says so
    try:
        exec(compile(source, "<test>", "exec"), namespace)
    except AssertionError as error:
        raise Wrong(str(error) or _failing_line(source, error)) from error
    except NameError as error:
        raise Wrong(f"the notebook does not define {error.name}") from error
    except StudentError as error:
        if error.is_a("NotImplementedError"):
            raise Unfinished("not written yet.") from error
        cause = f"the code raises {error.kind}"
        raise Wrong(f"your code raised {error}", cause=cause) from error


def _failing_line(source: str, error: AssertionError) -> str:
    """The assert's own line; of a hidden test only that it is one."""
    lines = source.splitlines()
    hidden_from = next((i for i, line in enumerate(lines) if HIDDEN_MARK in line), len(lines))
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename != "<test>":
        traceback = traceback.tb_next
    number = traceback.tb_lineno - 1 if traceback else len(lines)
    return lines[number].strip() if number < hidden_from else "a hidden test failed"
