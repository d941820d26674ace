"""Reading answer cells: a number is judged by the conventions that stand beside it.

In the notebook an answer is compared with what the student's own functions give for the conventions
it names, and with numbers that known mistakes produce; with hidden cases, the functions come from
`case.right`. So the right numbers are nowhere in what students get. An answer that does not follow
from these may follow from the student's own: a mistake in a function costs nothing here again.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, ClassVar

from labkit.bridge.requests import value_of
from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import finite_number_in, refuse_blank, show, slips_named
from labkit.checks.core import Unfinished, Wrong


@dataclass(frozen=True)
class AnswerCase:
    """One answer cell. The cell's name is that of the variable it assigns.

    right: the module of the right functions, or right values; key: right values beside such a
    module. Both are None in open cases.
    """

    is_own: ClassVar[bool] = True  # the student wrote it

    cell: str
    right: Any = None
    key: Any = None

    def __str__(self) -> str:
        return f"your answer {self.cell}"

    @property
    def by_own_functions(self) -> "AnswerCase | None":
        """The case as the notebook plays it, by the student's functions; None if it has none."""
        return replace(self, right=None) if isinstance(self.right, ModuleType) else None


def fields_of(student: Student, case: AnswerCase, keys: Sequence[str]) -> dict:
    """The answer, a dict with at least these keys. Raises Unfinished if one of them is blank."""
    answer = value_of(getattr(student, case.cell))
    if not isinstance(answer, dict):
        refuse_blank(answer)
    if not isinstance(answer, dict) or any(key not in answer for key in keys):
        names = ", ".join(map(str, keys))
        raise Wrong(f"`{case.cell}` needs the keys {names}", expected="a dict", got=show(answer))
    for key in keys:
        refuse_blank(answer[key], answer)
    return answer


def field_of(student: Student, case: AnswerCase, key: str) -> float:
    """One number of the answer."""
    return finite_number_in(fields_of(student, case, (key,))[key], key)


def choice_in(got: Any, options: Sequence[str], what: str) -> str:
    """The option that is named; capitals and a number before a unit ("48 GiB") do not matter."""
    if isinstance(got, str):
        text = got.strip().lower()
        for option in options:
            if option.lower() in (text, text.lstrip("0123456789. ")):
                return option
    raise Wrong(what, expected=" or ".join(f'"{option}"' for option in options), got=show(got))


def shape_of(functions: Any, model: str) -> Any:
    """The ModelShape of a model, where the functions are."""
    return functions.ModelShape.of(model)


def called(functions: Any, name: str, *arguments: Any) -> Any:
    """What one of the functions gives. Raises Unfinished if the student has not written it yet."""
    try:
        return getattr(functions, name)(*arguments)
    except StudentError as error:
        if error.is_unwritten:
            raise Unfinished(f"write {name} first: your answer is compared with it.") from None
        raise


def ask(functions: Any, name: str, *arguments: Any) -> float:
    """The same, where it is one number."""
    return finite_number_in(called(functions, name, *arguments), f"what your {name} gives")


def is_near(got: float, wanted: float, relative: float) -> bool:
    """Whether two numbers agree to a relative difference."""
    return math.isclose(got, wanted, rel_tol=relative)


def expect_close(
    case: AnswerCase,
    got: float,
    right: float,
    what: str,
    source: str,
    *,
    relative: float,
    slips: Mapping[float, str] | None = None,
    why: str = "",
) -> None:
    """The number agrees with the right one. slips: a sentence for the number of each mistake.

    source: where it follows from, in words.
    """
    if not is_near(got, right, relative):
        why = slips_named(got, slips or {}, max(relative, 1e-6), why)
        refuse(case, f"{what}, {show(got)}", source, why, cause=what)


def refuse(case: AnswerCase, what: str, source: str, why: str = "", *, cause: str) -> None:
    """Say no. The number that `what` was held against is never shown: it is the answer.

    source: where it follows from, in words. cause: the mistake without the student's number.
    Raises: Wrong, always.
    """
    whose = "" if case.right else ", by your own functions"
    cause = why or f"{cause} does not follow"
    raise Wrong(f"{what}: that does not follow from {source}{whose}", why=why, cause=cause)
