"""The checks as a notebook shows them: one exercise, the whole lab, the file to hand in."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from labkit.bridge.executor import describe_error
from labkit.bridge.local import local_student
from labkit.bridge.student import Student
from labkit.checks import card, handin, outline
from labkit.checks.core import (
    Check,
    Finding,
    Wrong,
    checks_of,
    open_cases_of,
    play_check,
    share_of_points,
)
from labkit.checks.hints.smallest import goal, smallest_failure
from labkit.checks.hints.tries import LAST_STEP, MIME, Tries, saved_tries, version_of
from labkit.checks.kernel import LIMIT_S, TookTooLong, time_limit, watch
from labkit.checks.printed.report import button, write_report
from labkit.checks.unjudged import ENDLESS, judged
from labkit.checks.why.asked import Asked, Shown, passes, play_here, questions_of, runs_here
from labkit.checks.why.borrowed import borrowed, borrowed_name
from labkit.checks.why.changes import changes_of, definition_in, unchanged
from labkit.checks.why.mistakes import folded

SMALLEST, GOAL = "smallest failing case", "what the line must achieve"


@dataclass(frozen=True)
class Report:
    """The findings of one exercise; shown as a page in a notebook, as text elsewhere.

    As plain text it is the number of points, which is what nbgrader reads from a test cell.
    note: what a reader has to know first. below: HTML that follows. later: see `card.as_html`.
    tries: what the notebook file keeps of it. topic: the lab, whose known mistakes are named.
    """

    exercise: str
    findings: list[Finding]
    points: float
    note: str = ""
    below: str = ""
    later: card.Later | None = None
    tries: Mapping[str, Any] | None = None
    topic: str = ""

    @property
    def earned(self) -> float:
        return round(sum(share_of_points(self.findings, self.points)), 2)

    def __str__(self) -> str:
        text = card.as_text(self.exercise, self.findings, self.points, self.later)
        return f"{self.note}\n{text}" if self.note else text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        kept = {} if self.tries is None else {MIME: self.tries}
        return {"text/plain": f"{self.earned:g}", "text/html": self._html() + self.below, **kept}

    def _html(self) -> str:
        more = partial(folded, self.topic)
        return card.as_html(self.exercise, self.findings, self.points, self.note, self.later, more)


@dataclass(frozen=True)
class Summary:
    """Every part of a lab, what its check said, and how many cells wait for an unwritten part."""

    parts: tuple[outline.Part, ...]
    reports: Mapping[str, Report]
    waiting: Collection[str] = ()  # for each cell that waits, the part that it needs

    def _earned(self) -> dict[str, float]:
        return {name: report.earned for name, report in self.reports.items()}

    def _rows(self) -> dict[str, str]:
        rows = {part.name: "written answer, marked by a person" for part in self.parts}
        for name, report in self.reports.items():
            rows[name] = card.points_line(report.findings, report.points)
            if all(finding.status == "todo" for finding in report.findings):
                rows[name] = f"{card.MARKS['todo'].sign} not written yet"
        return rows

    def __str__(self) -> str:
        lines = [f"{name}: {said}" for name, said in self._rows().items()]
        lines += [outline.progress_text(self.parts, self._earned())]
        return "\n".join(filter(None, [*lines, self._waits()]))

    def _waits(self) -> str:
        if not self.waiting:
            return ""
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(self.waiting))
        n = len(self.waiting)
        return f"{n} cell{'s wait' if n > 1 else ' waits'} for what is not written yet: {names}."

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = outline.table(self.parts, self._rows())
        shown += outline.progress_line(self.parts, self._earned())
        shown += f'<div style="{card.CARD}">{card.with_code(self._waits())}</div>'
        return {"text/plain": str(self), "text/html": shown}


class Checker:
    """Plays a lab's public cases against the names of a notebook.

    check = Checker("memory", globals())
    check("n_params", points=2)
    check.why("n_params")
    check.all()
    check.ready()
    check.report()
    """

    def __init__(self, topic: str, namespace: Mapping[str, Any]) -> None:
        self._topic = topic
        self._cases = open_cases_of(topic)
        self._checks = checks_of(topic)
        self._experiments = outline.experiments_of(topic)
        self._namespace = namespace
        self._reports: dict[str, Report] = {}
        self._watch = watch(self._checks)
        self._asked: dict[str, Asked] = {}
        self._tries = self._saved_tries() if self._watch else {}

    def __call__(self, exercise: str, points: float) -> Report:
        """Check one exercise. Raises ValueError for a name that is no exercise of this lab."""
        self._expect_known(exercise)
        report = self._report(exercise, points)
        self._reports[exercise] = report
        return report

    def why(self, exercise: str, choice: int | None = None) -> Shown:
        """Ask which claim fails without one line of your own code, or answer with its number.

        It earns no points. Raises ValueError for another exercise, or a number that no claim has.
        """
        self._expect_known(exercise)
        source = definition_in(self._namespace.get("In", ()), exercise)
        if not source:
            said = "is no function or class that a cell of this notebook defines."
            return Shown(exercise, f"`{exercise}` {said}")
        asked = self._asked.get(exercise)
        if asked is None or asked.source != source:
            if not all(finding.passed for finding in self._findings(exercise)):
                return Shown(exercise, f"First make all checks of `{exercise}` pass.")
            play = play_here(self._namespace, self._checks[exercise], self._cases[exercise])
            own = unchanged(source, exercise)
            if not passes(play, own):
                said = "does not pass by itself, in 2 seconds. Run it again, then its check."
                return Shown(exercise, f"The newest cell of `{exercise}` {said}")
            runs = runs_here(self._namespace, self._checks[exercise], self._cases[exercise], own)
            questions = questions_of(changes_of(source, exercise), play, runs=runs)
            asked = Asked(exercise, source, questions)
            self._asked[exercise] = asked
        return asked.ask() if choice is None else asked.answer(choice)

    def all(self) -> Summary:
        """Check every part of the lab."""
        parts = outline.outline_of(self._topic)
        for part in parts:
            if part.kind != "written":
                self(part.name, part.points)
        waiting = [*self._watch.waiting.values()] if self._watch else []
        return Summary(parts, self._reports, waiting)

    def ready(self, restart: bool = False) -> handin.Handin:
        """Whether the file on disk can be handed in.

        restart: also run its cells, without the experiments, in a fresh process. Takes as long as
        they take. Where there are widgets, a button calls `report`.
        """
        lab = outline.lab_name(self._topic)
        path = handin.find(lab, Path.cwd())
        ran = self._namespace.get("In", ())
        if path and self._watch:
            with suppress(ImportError):
                from IPython.display import display

                display(button(path))
        return handin.look_at(path, lab, outline.outline_of(self._topic), ran, restart)

    def report(self) -> Path:
        """Write your answers, figures and tables, as they were saved, into a page to print.

        Returns its path. Raises: OSError; ValueError if there is no notebook on disk.
        """
        path = handin.find(outline.lab_name(self._topic), Path.cwd())
        if path is None:
            raise ValueError(f"no notebook of this lab lies in {Path.cwd()}: {handin.SAVE}")
        return write_report(path)

    def _expect_known(self, exercise: str) -> None:
        if exercise not in self._checks:
            known = ", ".join(self._checks)
            raise ValueError(f"no exercise {exercise!r} in this lab; there are: {known}")

    def _report(self, exercise: str, points: float) -> Report:
        findings = self._findings(exercise)
        failed = self._watch.failed.get(exercise, "") if self._watch else ""
        note = (
            f"The last run of the cell of `{exercise}` ended in {failed}. "
            "This check looks at the version before."
            if failed and exercise in self._namespace
            else ""
        )
        below = self._invitation(exercise, findings) + self._progress(exercise, findings, points)
        tries = self._tries.setdefault(exercise, Tries())
        later = self._later(exercise, findings, tries)
        return Report(exercise, findings, points, note, below, later, tries.as_json(), self._topic)

    def _saved_tries(self) -> dict[str, Tries]:
        return saved_tries(handin.find(outline.lab_name(self._topic), Path.cwd()))

    def _later(self, exercise: str, findings: list[Finding], tries: Tries) -> card.Later:
        """Count this try; the hints that follow the first one, for the first mistake shown."""
        cells = self._namespace.get("In", ())
        version, cases = version_of(cells, exercise), self._cases[exercise]
        failed = [group[0] for group in card.groups_of(findings) if group[0].status == "failed"]
        steps = [tries.add(each.check.name, version) for each in failed]
        tries.is_passed = all(finding.passed for finding in findings)
        if not steps or steps[0] < 2:
            return {}
        check = failed[0].check
        failure = smallest_failure(check, self._namespace, cases)
        if failure is None:
            return {}
        hints = {SMALLEST: failure.drawn()}
        if steps[0] == LAST_STEP:
            source = definition_in(cells, exercise)
            hints[GOAL] = goal(failure, source, self._namespace, cases)
        return {check.name: hints}

    def _invitation(self, exercise: str, findings: list[Finding]) -> str:
        """After an exercise that passes, that there are questions about its code."""
        is_green = all(finding.passed for finding in findings)
        if not is_green or not definition_in(self._namespace.get("In", ()), exercise):
            return ""
        said = (
            f'Which line does what? Run `check.why("{exercise}")`: a question about your own code.'
        )
        return f'<div style="{card.CARD}">{card.with_code(said)}</div>'

    def _findings(self, exercise: str) -> list[Finding]:
        checks = self._checks[exercise]
        name = borrowed_name(self._namespace.get("In", ()), exercise, self._experiments)
        if name:
            return judged([Finding.failed(check, borrowed(name)) for check in checks])
        student = local_student(self._namespace)  # afresh: the cell may have changed
        return judged(_play(checks, student, self._cases[exercise], self._why_missing))

    def _why_missing(self, name: str) -> str:
        """The message about a name that is not bound: usually, its cell has not run."""
        if failed := self._watch and self._watch.failed.get(name):
            return f"The cell of `{name}` ended in {failed}. Correct it, then run it again."
        file = handin.find(outline.lab_name(self._topic), Path.cwd())
        if name in (handin.names_in(file) if file else self._checks):
            return f"Run the cell of `{name}` first."
        return f"the notebook does not define {name}."

    def _progress(self, exercise: str, findings: list[Finding], points: float) -> str:
        parts = outline.outline_of(self._topic)
        earned = {name: report.earned for name, report in self._reports.items()}
        earned[exercise] = Report(exercise, findings, points).earned
        return outline.progress_line(parts, earned) if parts else ""


def _play(
    checks: list[Check], student: Student, cases: list, why_missing: Callable[[str], str]
) -> list[Finding]:
    """Play the checks of an exercise; after a call without an end, the rest fails like it."""
    findings: list[Finding] = []
    for check in checks:
        try:
            with time_limit(LIMIT_S):
                findings.append(play_check(check, student, cases, why_missing=why_missing))
        except TookTooLong as stop:
            said = f"Your code was still running after {LIMIT_S} s and was stopped"
            findings += _stopped(checks[len(findings) :], stop, said)
        except KeyboardInterrupt as stop:
            findings += _stopped(checks[len(findings) :], stop, "You stopped your code")
        if len(findings) == len(checks):
            break
    return findings


def _stopped(checks: list[Check], stop: BaseException, said: str) -> list[Finding]:
    place = describe_error(stop)["lines"]
    where = f" in {place[-1]}" if place else ""
    wrong = Wrong(f"{said}{where}", cause=ENDLESS)
    return [Finding.failed(check, wrong) for check in checks]
