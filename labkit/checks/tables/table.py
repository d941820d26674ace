"""Checks of a pure function as a table: its claims, the calls of each, and what they give.

    largest_model = CallTable(
        "largest_model",
        "the parameters that fit",
        [
            Claim(
                "wider_parameters_leave_room_for_fewer",
                "The function uses bytes_per_param, which is not always 2.",
                hint="Divide by bytes_per_param, not by 2.",
                rows=[call(16_000_000_000, 0, 4).gives(4_000_000_000)],
            ),
        ],
        slips=lambda vram, overhead=0, width=2: {
            "The overhead was not subtracted.": vram // width,
        },
        probes=[call(10_007, 1_009, 2), call(90_001, 5_003, 4)],
    )

A row is a call and its result: a value, or the class of an exception. Hidden rows are calls alone;
the reference answer gives their results. The message about a wrong result names a slip if the slip
gives all that the student's function gives: for all rows, open and hidden, of the table, or else of
the claim. With probes it is for these and the rows of the claim. A function of slips with a
parameter `right` gets the right result as well; probes have none.

No constant passes a claim. If all its rows give the same, or nothing (0, False, None, an empty
list, an exception), it is judged only if a call of another claim gives something else.
"""

import copy
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labkit.bridge.requests import place, value_of
from labkit.bridge.student import Student, StudentError, raised_by
from labkit.bridge.wire import is_array
from labkit.checks.compare import (
    NAN,
    difference_of,
    expect_equal,
    joined,
    number_in,
    refuse_blank,
    show,
)
from labkit.checks.core import Check, Checks, NotJudged, Unfinished, Wrong
from labkit.checks.tables.calls import Call, Row

Function = Callable[..., Any]
Slips = Callable[..., Mapping[str, Any]]  # results of known mistakes, by what is said of each
FLOAT = "A float holds 53 bits, so the last digits are lost. Do not use `/` or float()."


@dataclass(frozen=True)
class Claim:
    """A check of a function: what it does, and rows that show it.

    of: what the rows are about, if it is not the result itself, such as
    `lambda f, n, width: f(n, width) / f(n, 1)`; what: that in words. keeps: the place of an
    argument that a call may not change. slips: what mistakes give for this claim alone; why: what
    to say if no slip fits. relative, absolute: other tolerances than the table's; 0 is exact, and a
    function of the arguments is the tolerance of each row.
    """

    name: str
    says: str
    hint: str
    rows: Sequence[Row]
    weight: float = 1
    gate: bool = True
    of: Callable[..., Any] | None = None
    what: str = ""
    keeps: int | None = None
    slips: Slips | None = None
    why: str = ""
    relative: float | Callable[..., float] | None = None
    absolute: float | None = None


class CallTable(Checks):
    """The checks of one function. what: its result in words; parts: exercises that it calls."""

    def __init__(
        self,
        exercise: str,
        what: str,
        claims: Sequence[Claim],
        *,
        slips: Slips | Sequence[Slips] = (),
        probes: Sequence[Call] = (),
        relative: float = 1e-6,
        absolute: float = 0.0,
        parts: tuple[str, ...] = (),
    ) -> None:
        self.slips = [slips] if callable(slips) else [*slips]
        self.probes = list(probes)
        self.claims = {
            claim.name: replace(
                claim,
                what=claim.what or what,
                relative=relative if claim.relative is None else claim.relative,
                absolute=absolute if claim.absolute is None else claim.absolute,
            )
            for claim in claims
        }
        checks = [
            Check(claim.name, exercise, claim.says, claim.hint, claim.weight,
                  partial(_is_of, claim.name), partial(self._play, claim), claim.gate, parts)
            for claim in self.claims.values()
        ]  # fmt: skip
        super().__init__(exercise, checks, [])
        self.open_cases += self._together({claim.name: claim.rows for claim in claims})

    def hidden(self, calls: Mapping[str, Iterable[Call]], right: Function) -> list[Row]:
        """The rows of these calls, by claim; the right function gives their results."""
        return self._together(
            {name: [self._given(self.claims[name], each, right) for each in calls[name]]
             for name in calls}
        )  # fmt: skip

    def _given(self, claim: Claim, call: Call, right: Function) -> Row:
        try:
            got = call.here(partial(claim.of, right) if claim.of else right)
            return call.gives(_plain(got, claim.what))
        except ValueError:
            return call.gives(ValueError)

    def _together(self, rows: Mapping[str, Iterable[Row]]) -> list[Row]:
        """The rows, each with those that it is compared with."""
        named = {
            name: [replace(row, function=self.exercise, kind=name) for row in rows[name]]
            for name in rows
        }
        found = [row for some in named.values() for row in some]
        firsts = {row.kind: row for row in reversed(found) if row.gives_something}

        def beside(name: str, row: Row) -> list[Row]:
            claim, results = self.claims[name], [each.result for each in named[name]]
            if claim.keeps is not None:
                return [each for each in named[name] if each.result != row.result]
            is_nothing = not any(each.gives_something for each in named[name])
            is_one = claim.of is None and results == results[:1] * len(results)
            others = [each for each in firsts.values() if each.result != row.result]
            return others if is_nothing or is_one else []

        among = (*self.open_cases, *found)
        return [replace(row, beside=tuple(beside(row.kind, row)), among=among) for row in found]

    def _play(self, claim: Claim, student: Student, row: Row) -> None:
        if callable(claim.relative):
            claim = replace(claim, relative=row.call.here(claim.relative))
        if claim.keeps is not None:
            return self._expect_kept(claim, student, row)
        try:
            got = self._ask(claim, student, row.call)
        except StudentError as error:
            if error.is_unwritten or not row.is_refused:
                raise
            got = error
        if not _same(got, row.result, claim):
            self._refuse(claim, student, row, got)
        if row.beside and not any(self._differs(claim, student, row, each) for each in row.beside):
            raise NotJudged("other calls give the same, or nothing")

    def _differs(self, claim: Claim, student: Student, row: Row, other: Row) -> bool:
        """Whether the other call gives something, and not what this row gives: no constant does."""
        try:
            got = self._given_or_raised(claim, student, other.call)
        except Wrong:
            return False
        if isinstance(got, StudentError):
            return row.gives_something
        return bool(got) and got == got and not _same(got, row.result, claim)

    def _expect_kept(self, claim: Claim, student: Student, row: Row) -> None:
        """The argument is the same after the call, and the result depends on the arguments."""
        args = list(row.call.args)
        args[claim.keeps] = place(student, copy.deepcopy(args[claim.keeps]))
        got = self._ask(claim, student, Call(tuple(args), row.call.kwargs))
        after, before = value_of(args[claim.keeps]), row.call.args[claim.keeps]
        expect_equal(after, before, claim.what or "the argument after the call")
        for other in row.beside:
            is_more = _less(got, self._ask(claim, student, other.call))
            if is_more is not (row.result < other.result):
                raise NotJudged("other arguments should give another result, and do not")

    def _refuse(self, claim: Claim, student: Student, row: Row, got: Any) -> None:
        """Raise Wrong for this result, with its cause if it is known."""
        what, right = claim.what, row.result
        if _is_number(right):
            got = number_in(got, what)
            is_float = got == float(got)  # what a float holds
            if is_float and not claim.relative and math.isclose(got, right, rel_tol=2**-52):
                raise Wrong(what, **difference_of(right, got), why=FLOAT)
        elif isinstance(right, bool) and not isinstance(got, bool):
            raise Wrong(what, expected="True or False", got=show(got))
        why = self._cause(claim, student, row) or claim.why
        if row.is_refused:
            shown = str(got) if isinstance(got, StudentError) else "no error"
            raise Wrong(what, expected=f"a {right.__name__}", got=shown, why=why)
        if _is_number(got) and math.isnan(got):
            why = why or NAN
        raise Wrong(what, **difference_of(right, got), why=why)

    def _cause(self, claim: Claim, student: Student, row: Row) -> str:
        """The sentences about the slips that give all that the student's function gives."""
        own = [each for each in row.among if each.kind == claim.name]
        if claim.slips and (why := self._fitting(claim, student, [*own, row], claim.slips)):
            return why
        if row.is_refused:
            return ""
        every = [each for each in row.among if each.gives_something]
        own = [each for each in own if each.gives_something]
        probes = [*[each.gives(None) for each in self.probes], *own]
        for rows in [probes] if self.probes else [every, own][: len(own)]:  # one row is no proof
            for slips in self.slips:
                if why := self._fitting(replace(claim, of=None), student, [*rows, row], slips):
                    return why
        return ""

    def _fitting(self, claim: Claim, student: Student, rows: Sequence[Row], slips: Slips) -> str:
        """The sentences of the last row's slips that give all results of the student's function.

        A row for which a slip says nothing does not count.
        """
        given = [(row.call, of) for row in rows if (of := row.slips(slips))]
        if not claim.relative:  # a slip may round, where the claim may not
            claim = replace(claim, relative=1e-6)
        try:
            got = [self._given_or_raised(claim, student, asked) for asked, _ in given]
        except (Wrong, Unfinished):
            return ""
        return joined(
            text
            for text in (given[-1][1] if given and given[-1][0] is rows[-1].call else ())
            if all(text not in of or _same(one, of[text], claim)
                   for one, (_, of) in zip(got, given, strict=True))
        )  # fmt: skip

    def _given_or_raised(self, claim: Claim, student: Student, call: Call) -> Any:
        n_raised = len(raised_by(student))
        try:
            return self._ask(claim, student, call)
        except StudentError as error:
            del raised_by(student)[n_raised:]  # an error here is not what is wrong
            return error

    def _ask(self, claim: Claim, student: Student, call: Call) -> Any:
        """The value that the claim is about, from the student's function, as a plain value."""
        last: list[Any] = [None]

        def function(*args: Any, **kwargs: Any) -> Any:
            got = Call(args, kwargs).there(getattr(student, self.exercise), student)
            last[0] = _plain(got, claim.what)
            return last[0]

        if not claim.of:
            return function(*call.args, **call.kwargs)
        try:
            return claim.of(function, *call.args, **call.kwargs)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            is_zero = isinstance(error, ZeroDivisionError)
            expected = "more than 0, to divide by" if is_zero else "results to compare"
            raise Wrong(claim.what, expected=expected, got=show(last[0])) from error


def _is_of(kind: str, case: Any) -> bool:
    return getattr(case, "kind", None) == kind


def _plain(got: Any, what: str) -> Any:
    """A value as numbers, truth values, texts and lists of them."""
    refuse_blank(got)
    if is_array(got):
        got = got.item() if math.prod(got.shape) == 1 else got.tolist()
    if isinstance(got, list | tuple):
        return [_plain(each, what) for each in got]
    return got if got is None or isinstance(got, bool | str) else number_in(got, what)


def _same(got: Any, right: Any, claim: Claim) -> bool:
    """Whether this is the right result, within the tolerance of the claim."""
    if isinstance(right, type):
        return isinstance(got, StudentError) and got.is_a(right.__name__)
    if isinstance(right, list | tuple):
        pairs = zip(got, right, strict=False) if isinstance(got, list) else ()
        is_as_long = isinstance(got, list) and len(got) == len(right)
        return is_as_long and all(_same(*pair, claim) for pair in pairs)
    if not _is_number(right) or not _is_number(got) or not claim.relative:
        return isinstance(got, bool) is isinstance(right, bool) and got == right
    return math.isclose(got, right, rel_tol=claim.relative, abs_tol=claim.absolute)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _less(one: Any, other: Any) -> bool:
    return all(isinstance(each, int | float) for each in (one, other)) and one < other
