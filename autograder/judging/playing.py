"""Playing the checks of one submission: in forks of its process, none at another's cost."""

import traceback
from dataclasses import dataclass, replace
from types import ModuleType

from autograder.judging.ends import FULL, ChildDied, Overfilled, Overran, StudentEnded, UsedUp
from autograder.judging.session import Session
from autograder.judging.steady import Changed
from labkit.bridge.student import Student
from labkit.bridge.wire import WireError
from labkit.checks.core import HIDDEN, Check, Finding, Wrong, play_check, share_of_points
from labkit.checks.unjudged import ENDLESS, EXITS

MAX_SILENCES = 2
VERDICTS = ("passed", "failed", "unjudged")
NO_MEMORY = "can't allocate memory"  # says torch
UNREADABLE = "your code returned what cannot be read"
GAINED = "`{}` earned more in a fresh process than after other checks: earlier calls change it"


@dataclass(frozen=True)
class Play:
    """A check and the cases it is played on. right: the lab's right functions, if it has some.

    is_helped: whether they take the place of its parts from the first case on.
    """

    check: Check
    cases: list
    right: ModuleType | None = None
    is_helped: bool = False


class Playing:
    """The checks of one submission, played in forks. broken: takes reports of our own mistakes.

    unplayed: exercises that are not judged this time. An exercise that gave no answer in time in
    two checks is not asked again.
    """

    def __init__(
        self, session: Session, broken: list[str], unplayed: frozenset[str] = frozenset()
    ) -> None:
        self._session = session
        self._broken = broken
        self._unplayed = unplayed
        self._silences: dict[str, list[str]] = {}  # by exercise

    def play_all(self, plays: list[Play]) -> list[Finding]:
        """Play all in one fork; then the checks of an exercise that failed, each in one of its own.

        So none fails by another's side effects, and none by another's crash, for a fork that ended
        is replaced; yet a submission whose checks all pass costs one fork, not one for each. What
        is played again finds nothing that earlier checks left. Of the two times, the one that earns
        more counts, and never the best of each check. So code that guesses has one guess for an
        exercise, or two if it counts the calls before: what an honest side effect looks like. A
        note says so if the second time earns more.
        """
        findings: list[Finding] = []
        alone: set[int] = set()
        while len(findings) < len(plays):
            alone.add(len(findings))
            findings += self._in_fork(plays[len(findings) :])
        by_exercise: dict[str, list[int]] = {}
        for i, play in enumerate(plays):
            by_exercise.setdefault(play.check.exercise, []).append(i)
        for places in by_exercise.values():
            first = [findings[i] for i in places]
            if any(findings[i].status == "failed" and i not in alone for i in places):
                again = self._each_alone([plays[i] for i in places], first)
                gained = _earned(again) - _earned(first)
                if gained >= 0:
                    for i, finding in zip(places, again, strict=True):
                        findings[i] = finding
                if gained > 0:
                    self._session.notes.append(GAINED.format(plays[places[0]].check.exercise))
            if any(findings[i].is_helped for i in places):
                own = [i for i in places if _has_passed_by_own(plays[i], findings[i])]
                again = self._with_right_parts([plays[i] for i in own])
                for i, finding in zip(own, again, strict=True):
                    findings[i] = finding
        return _settled(findings, self._unplayed)

    def _each_alone(self, plays: list[Play], first: list[Finding]) -> list[Finding]:
        """Each check in a fork of its own. What has no time left, or no verdict, fails as before.

        An answer that the fresh process has otherwise, such as a measured time, is no verdict.
        """
        findings = []
        for play, before in zip(plays, first, strict=True):
            if self._has_ended(play) or not self._session.is_ready_again():
                return first
            again = self._in_fork([play])[0]
            is_verdict = again.status in VERDICTS and again.cause != UNREADABLE
            findings.append(again if is_verdict or before.status != "failed" else before)
        return findings

    def _with_right_parts(self, plays: list[Play]) -> list[Finding]:
        """What these find with right parts, as another check of their exercise needs them.

        So code that recognizes whose parts it has, has one guess for all checks.
        """
        findings: list[Finding] = []
        while len(findings) < len(plays):
            rest = [replace(play, is_helped=True) for play in plays[len(findings) :]]
            findings += self._in_fork(rest)
        return findings

    def _in_fork(self, plays: list[Play]) -> list[Finding]:
        """The findings up to the first check in which the student's code ended the fork."""
        findings: list[Finding] = []

        def play_them(student: Student) -> None:
            for play in plays:
                if self._has_ended(play):
                    findings.append(self._silent(play))
                    continue
                with self._session.deadline(play.check.exercise):
                    findings.append(_play(play, student, self._broken))

        try:
            self._session.in_fork(play_them)
        except UsedUp as used_up:
            findings.append(Finding.undecided(plays[len(findings)].check, str(used_up)))
        except StudentEnded as ended:
            if len(findings) < len(plays):
                check = plays[len(findings)].check
                wrong = Wrong(str(ended), cause=_cause_of(ended))
                finding = Finding.failed(check, wrong, HIDDEN)
                findings.append(finding.without(f" ({ended.said})") if ended.said else finding)
                if isinstance(ended, Overran):
                    self._silences.setdefault(check.exercise, []).append(str(ended))
        return findings

    def _has_ended(self, play: Play) -> bool:
        return len(self._silences.get(play.check.exercise, ())) >= MAX_SILENCES

    def _silent(self, play: Play) -> Finding:
        told = self._silences[play.check.exercise][0]
        told = f"{told}, in {MAX_SILENCES} earlier checks of this exercise"
        return Finding.failed(play.check, Wrong(told, cause=ENDLESS), HIDDEN)


def _has_passed_by_own(play: Play, finding: Finding) -> bool:
    """Whether a check that has parts has passed without right ones."""
    return bool(play.check.parts) and finding.passed and not finding.is_helped


def _earned(findings: list[Finding]) -> float:
    """The share of its points that an exercise earns."""
    return sum(share_of_points(findings, 1.0))


def _settled(findings: list[Finding], unplayed: frozenset[str]) -> list[Finding]:
    """What passed in a second play alone counts if a function is wrong that the first one used.

    So a mistake in a function costs once. Code that recognizes the second play, and an answer for
    which a wrong function was written, have one guess. A function that is right in a second play
    alone may be wrong for all that use it, and so may one of the `unplayed`.
    """
    wrong = unplayed | {finding.check.exercise for finding in findings if not finding.passed}
    while more := {one.check.exercise for one in findings if one.own & wrong} - wrong:
        wrong |= more
    return [
        finding.otherwise if finding.otherwise and not finding.own & wrong else finding
        for finding in findings
    ]


def _cause_of(ended: StudentEnded) -> str:
    """The cause of an end, in the same words for all students; a forged message is quoted."""
    causes = {Overran: ENDLESS, ChildDied: EXITS}
    return next((cause for kind, cause in causes.items() if isinstance(ended, kind)), str(ended))


def _play(play: Play, student: Student, broken: list[str]) -> Finding:
    check = play.check
    try:
        helps = {"right": play.right, "is_helped": play.is_helped}
        return play_check(check, student, play.cases, hidden=True, **helps)
    except StudentEnded:
        raise
    except WireError as error:
        finding = Finding.failed(check, Wrong(f"{UNREADABLE}: {error}", cause=UNREADABLE))
        return finding if isinstance(error, Changed) else finding.without(f": {error}")
    except Exception as error:
        is_torchs = type(error) is RuntimeError and NO_MEMORY in str(error)
        if isinstance(error, MemoryError) or is_torchs:
            raise Overfilled(FULL) from None
        broken.append(
            f"our check {check.name} broke ({in_a_line(error)}); mark {check.exercise} by hand and "
            "report this"
        )
        return Finding.failed(check, Wrong("our check broke; a person will look at this one"))


def in_a_line(error: Exception) -> str:
    """An exception of our own code, and where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error}, in {frame.name}, line {frame.lineno}"
