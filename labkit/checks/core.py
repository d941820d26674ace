"""What a check is, and how it is played.

A check is an ordinary function `check(student, case)`: it plays one case against the student's code
and raises `Wrong` at the first difference. The first line of its docstring is the claim that
students read; the `@check` decorator says to which exercise it belongs.

    @check("weight_bytes", hint="Multiply n_params by bytes_per_param.")
    def charges_every_parameter(student: Student, case: WeightCase) -> None:
        '''Weights take the parameter count times the bytes of one parameter.'''
        got = student.weight_bytes(case.n_params, case.bytes_per_param)
        expect_number(got, case.expected, "the bytes of the weights")

The module that holds the checks also has `OPEN_CASES`, a dict from exercise to cases; the hidden
ones live with the grader. Cases describe themselves in words with `str(case)`. The checks of a pure
function are shorter as a table, which has its own open cases: see `labkit.checks.tables`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, Self

from labkit.bridge.helped import Helped
from labkit.bridge.student import MissingName, Student, StudentError, named_in, raised_by
from labkit.bridge.wire import NoValue
from labkit.checks.wrong import NotJudged, OnlyRead, Undecided, Unfinished, Wrong

Play = Callable[[Student, Any], None]
HIDDEN = "On a hidden case"
NOT_JUDGED = "Not judged: "
UNWRITTEN = "not written yet."
RAISED, RAISES = "your code raised", "the code raises"  # in a message, and in a cause
GATE_SENTENCE = "Without this, the exercise earns at most half of its points."
UNDECIDED_SENTENCE = "This costs no points by itself. A person will look at it."


@dataclass(frozen=True, slots=True)
class Check:
    """One named check of one exercise; `weight` is its share of the exercise's points.

    gate: it asks for what the exercise is about; while it fails, all of the exercise's checks
    together earn at most half of the points. parts: other exercises that this one calls.
    """

    name: str
    exercise: str
    claim: str
    hint: str
    weight: float
    applies_to: Callable[[Any], bool]
    play: Play
    gate: bool = False
    parts: tuple[str, ...] = ()


@dataclass
class Checks:
    """All checks of one exercise, and the cases that students see: see `labkit.checks.tables`."""

    exercise: str
    checks: list[Check]
    open_cases: list


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    status: "passed", "failed", "todo", "read" (see OnlyRead), "unjudged" where another failed check
    has to be mended first, or "undecided" for a check that came to no verdict;
    message: all of it, for the student; cause, expected and got: the parts of what is wrong; case:
    the place of the case that failed, -1 if there is none. stop: where the student's code raised,
    "" if it did not. share: of the exercise's points, what it can earn at most. shown: the message
    without what the student's code said of a hidden case, "" if it said nothing. otherwise: the
    finding of the first play, for what passed in the second alone; own: the functions of which one
    has to be wrong for the second to count. is_helped: whether it passed with right parts.
    """

    check: Check
    status: str
    message: str = ""
    cause: str = ""
    expected: str = ""
    got: str = ""
    case: int = -1
    stop: str = ""
    share: float = 1.0
    shown: str = ""
    otherwise: "Finding | None" = None
    own: frozenset[str] = frozenset()
    is_helped: bool = False

    @classmethod
    def failed(
        cls, check: Check, wrong: Wrong, place: str = "", case: int = -1, stop: str = ""
    ) -> Self:
        """The finding that says what is wrong, and at which case: each message is made here."""
        text = f"{place}: {wrong.sentences()}" if place else wrong.sentences()
        parts = wrong.cause, wrong.expected, wrong.got
        return cls(check, "failed", text, *parts, case, stop, wrong.share)

    @classmethod
    def unjudged(cls, check: Check, reason: str, share: float = 1.0) -> Self:
        """The finding of a check whose claim cannot be judged before another check passes."""
        return cls(check, "unjudged", f"{NOT_JUDGED}{reason}.", share=share)

    @classmethod
    def undecided(cls, check: Check, reason: str) -> Self:
        """The finding of a check that came to no verdict: a person has to look."""
        return cls(check, "undecided", f"This check is not decided: {reason}.")

    def reworded(self, change: Callable[[str], str], **more: Any) -> Self:
        """The finding with its message changed in all its forms."""
        shown = change(self.shown) if self.shown else ""
        return replace(self, message=change(self.message), shown=shown, **more)

    def without(self, said: str, instead: str = "") -> Self:
        """The finding that shows students something else in place of what their code said."""
        before = self.shown or self.message
        after = before.replace(said, instead) if said else before
        return self if after == before else replace(self, shown=after)

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def is_undecided(self) -> bool:
        return self.status == "undecided"


def check(
    exercise: str,
    *kinds: str,
    hint: str,
    weight: float = 1,
    applies_to: Callable[[Any], bool] | None = None,
    gate: bool = False,
    parts: tuple[str, ...] = (),
) -> Callable[[Play], Play]:
    """Mark a function as a check of `exercise`.

    It plays the cases of these kinds (`case.kind`), or those for which `applies_to` holds; all
    cases if neither is given. `gate=True` marks what the exercise is about: while that check fails,
    the exercise earns at most half of its points, however much the others have earned. What fails
    with the student's own `parts` is played once more with right ones, if they are at hand.
    """

    def is_of_a_kind(case: Any) -> bool:
        return not kinds or getattr(case, "kind", None) in kinds

    def mark(play: Play) -> Play:
        claim = (play.__doc__ or "").strip().splitlines()[0]
        play.check = Check(
            play.__name__,
            exercise,
            claim,
            hint,
            weight,
            applies_to or is_of_a_kind,
            play,
            gate,
            parts,
        )
        return play

    return mark


def checks_of(topic: str) -> dict[str, list[Check]]:
    """The checks of a lab by exercise, in the order in which they are written.

    Raises: ModuleNotFoundError if there is no such lab.
    """
    by_exercise: dict[str, list[Check]] = {}
    for module in _check_modules(topic):
        for value in vars(module).values():
            found = getattr(value, "check", None)
            if isinstance(value, Checks):
                by_exercise[value.exercise] = value.checks
            elif isinstance(found, Check) and value.__module__ == module.__name__:
                by_exercise.setdefault(found.exercise, []).append(found)
    return by_exercise


def tables_of(topic: str) -> dict[str, Checks]:
    """The tables of a lab, by the function that each is about."""
    return {
        value.exercise: value
        for module in _check_modules(topic)
        for value in vars(module).values()
        if isinstance(value, Checks)
    }


def open_cases_of(topic: str) -> dict[str, list]:
    """The cases of a lab that students see, by exercise."""
    cases = {
        exercise: cases
        for module in _check_modules(topic)
        for exercise, cases in getattr(module, "OPEN_CASES", {}).items()
    }
    return cases | {name: table.open_cases for name, table in tables_of(topic).items()}


def _check_modules(topic: str) -> list[ModuleType]:
    return [import_module(name) for name in names_of_check_modules(topic)]


def names_of_check_modules(topic: str) -> list[str]:
    """Every module in the folder of a lab's checks, and in folders there: none has to be listed."""
    package = import_module(f"labkit.labs.{topic}.checks")
    return [module.name for module in walk_packages(package.__path__, f"{package.__name__}.")]


def play_check(
    check: Check,
    student: Student,
    cases: Sequence[Any],
    *,
    hidden: bool = False,
    right: Any = None,
    is_helped: bool = False,
    why_missing: Callable[[str], str] = "the notebook does not define {}.".format,
) -> Finding:
    """Play every case that applies, up to the first that goes wrong.

    `hidden` keeps the case itself out of the message, unless it is the student's own answer
    (`is_own`), and the texts of the student's exceptions out of what is shown: they may say all of
    the case. right: holds the right functions, by the names of exercises; is_helped: they are the
    parts from the first case on. why_missing: what is said of a name that is not there.
    Raises: ValueError if no case applies, for then the check could not fail.
    """
    applicable = [(i, case) for i, case in enumerate(cases) if check.applies_to(case)]
    if not applicable:
        raise ValueError(f"no case for the check {check.name} of {check.exercise}")

    def shown(finding: Finding, case: Any) -> Finding:
        if not hidden or getattr(case, "is_own", False):
            return finding
        for error in raised_by(student):
            finding = finding.without(str(error), error.kind)
            finding = finding.without(f"{HIDDEN}: {error.message}.", f"{HIDDEN}: {error.kind}.")
        return finding

    raised_by(student).clear()
    passed, helped = Finding(check, "passed"), _helped(check, student, right) if is_helped else None
    for n, (i, case) in enumerate(applicable):
        try:
            if helped is not None:
                check.play(helped, case)
            elif second := _play(check, student, [each for _, each in applicable[: n + 1]], right):
                helped = second.helped
                if second.own:
                    first = second.first
                    first = first if isinstance(first, Wrong) else _raised(first)
                    failed = Finding.failed(check, first, _place_of(case, hidden), i)
                    otherwise = passed.otherwise or shown(failed, case)
                    passed = replace(passed, otherwise=otherwise, own=passed.own | second.own)
        except OnlyRead as read:
            return Finding(check, "read", str(read))
        except Unfinished as unfinished:
            return Finding(check, "todo", str(unfinished))
        except NotJudged as reason:
            return shown(Finding.unjudged(check, reason.what), case)
        except Undecided as reason:
            return shown(Finding.undecided(check, reason.sentences().rstrip(".")), case)
        except MissingName as missing:
            return Finding(check, "todo", why_missing(str(missing)))
        except StudentError as error:
            if error.is_unwritten:
                return Finding(check, "todo", _what_is_to_do(check.exercise, error))
            raised_by(student).append(error)
            place = _place_of(case, hidden)
            return shown(Finding.failed(check, _raised(error), place, i, error.stop), case)
        except Wrong as wrong:
            place, stop = _place_of(case, hidden), _last_stop(student)
            return shown(Finding.failed(check, wrong, place, i, stop), case)
        except NoValue as error:
            return Finding.failed(check, Wrong(str(error)), _place_of(case, hidden), i)
    return replace(passed, is_helped=helped is not None)


@dataclass(frozen=True, slots=True)
class _Second:
    """A second play that passed where the first failed.

    own: the functions of which one has to be wrong for that to count. helped: the student with
    right parts, if it had them.
    """

    first: Wrong | StudentError
    own: frozenset[str]
    helped: Student | None = None


def _play(check: Check, student: Student, cases: Sequence[Any], right: Any) -> _Second | None:
    """Play the last case; where it fails, once more with right parts, or with own functions.

    So a mistake in one of these costs nothing where it is used. The cases before it have passed:
    they are played with right parts too, so code that recognizes these has one guess. An exception
    is no guess: with right parts, what raised it has its one answer.
    """
    *before, case = cases
    try:
        check.play(student, case)
    except (Wrong, StudentError) as own:
        if (again := getattr(case, "by_own_functions", None)) is not None:
            _play_again(check, student, again, own)
            return _Second(own, frozenset(named_in(student)))
        if right is None or not check.parts:
            raise
        helped = _helped(check, student, right)
        try:
            check.play(helped, case)
        except StudentError as error:
            raise own if isinstance(own, Wrong) else error from None
        for each in before:
            _play_again(check, helped, each, own)
        return _Second(own, frozenset(check.parts * isinstance(own, Wrong)), helped)
    return None


def _helped(check: Check, student: Student, right: Any) -> Student:
    """The student with right parts in place of its own."""
    parts = {name: getattr(right, name) for name in check.parts}
    return student.once(("helped", check.parts), lambda: Helped(student, parts))


def _play_again(check: Check, student: Student, case: Any, first: Exception) -> None:
    named_in(student).clear()
    try:
        check.play(student, case)
    except (Wrong, NotJudged, Unfinished, MissingName, StudentError):
        raise first from None


def _what_is_to_do(exercise: str, error: StudentError) -> str:
    """Whether this exercise is unwritten, or another one that it calls."""
    if error.function.split(".")[0] in ("", exercise):
        return UNWRITTEN
    return f"this calls `{error.function}`, which is not written yet."


def _raised(error: StudentError) -> Wrong:
    line = f" ({error.lines[-1]})" if error.lines else ""
    return Wrong(f"{RAISED} {error}{line}", cause=f"{RAISES} {error.kind}")


def _last_stop(student: Student) -> str:
    """The last stop of the student's code that a check saw before it said no; "" if it saw none."""
    raised = raised_by(student)
    return raised[-1].stop if raised else ""


def _place_of(case: Any, hidden: bool) -> str:
    """Where something is wrong; an answer of the student's own is no secret."""
    return HIDDEN if hidden and not getattr(case, "is_own", False) else str(case)


def share_of_points(findings: Sequence[Finding], points: float) -> list[float]:
    """The points each finding earns, out of `points` for all of them, by weight.

    What is not decided earns what the others earn of their points, so it neither costs nor gives.
    While a gate is not passed, all that is earned is scaled down to half of `points`; a finding may
    leave a smaller share.
    """
    shares = points_by_weight([finding.check for finding in findings], points)
    pairs = list(zip(findings, shares, strict=True))
    decided = sum(share for each, share in pairs if not each.is_undecided)
    right = sum(share for each, share in pairs if each.passed) / (decided or 1.0)
    earned = [
        round(share * right, 4) if each.is_undecided else share * each.passed
        for each, share in pairs
    ]
    is_met = all(each.passed or each.is_undecided for each in findings if each.check.gate)
    most = points * min([1.0 if is_met else 0.5, *(each.share for each in findings)])
    factor = min(1.0, most / sum(earned)) if any(earned) else 1.0
    return earned if factor == 1 else [round(share * factor, 4) for share in earned]


def points_by_weight(checks: Sequence[Check], points: float) -> list[float]:
    """The points that each check is worth; the last one takes what rounding leaves."""
    total = sum(check.weight for check in checks)
    shares = [round(points * check.weight / total, 4) for check in checks[:-1]]
    return [*shares, round(points - sum(shares), 4)]
