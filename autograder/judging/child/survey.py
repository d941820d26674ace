"""A quick look at many changes of a definition: which of them break some claims, and not all.

It plays in the process of the code, so its findings are hints that may be forged: the keys of
questions come from checks that are played from outside.
"""

from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

from labkit.bridge.local import LocalChannel
from labkit.bridge.student import Student
from labkit.checks.core import RAISES, Check, checks_of, open_cases_of, play_check
from labkit.checks.kernel import TookTooLong, time_limit
from labkit.checks.why.asked import CHANGED, N_OTHERS, TRIVIAL, in_silence, noted_lines, question_in
from labkit.checks.why.changes import Change

LEAST_LIMIT_S, LIMIT_SHARE = 0.3, 8  # of a play: at least, and times that of the first one
MOST_STOPS = 2
MOST_TELLING = 5  # changes that break some claims: more are not looked for
SIGNS = {"passed": "p", "failed": "f"}


def survey(
    topic: str,
    exercise: str,
    definitions: Sequence[tuple[str, int, str]],
    namespace: Mapping[str, Any],
    budget_s: float,
) -> tuple[list[str], list[list[int]]]:
    """What the checks find of each definition, a sign for each check, until the time is up.

    With them come, for each check, the lines of the first definition, the unchanged one, that run.

    "p" passed, "f" failed, "t" failed because a name is missing, "-" anything else, such as a
    crash; "" for a definition that raises, or does not end. Each has the line that it changes and
    its text, or 0 and "": checks that do not run it are left out, and a last "t" says that it gives
    no question.
    """
    checks, cases = checks_of(topic)[exercise], open_cases_of(topic)[exercise]
    names: dict[str, Any] = {}
    channel = LocalChannel(names)  # one for all: to make it takes longer than a play
    started, signs, limit_s, n_left = process_time(), [], budget_s, MOST_STOPS
    runs: list[list[int]] = []

    def play(change: Change) -> str:
        names.clear()
        names.update(namespace)
        exec(compile(change.definition, CHANGED, "exec"), names)
        channel.student = student = Student(channel)
        if not runs:
            return _noted(checks, cases, student, runs)
        asked = [each for each, own in zip(checks, runs, strict=True)
                 if change.line in own or not change.line]  # fmt: skip
        return _signs(asked, cases, student, change)

    for definition, line, text in definitions:
        began = process_time()
        n_telling = sum(map(is_telling, signs[1:]))
        if began - started > budget_s or not n_left or n_telling >= MOST_TELLING:
            break
        try:
            with in_silence(), time_limit(limit_s, process_time):
                signs.append(play(Change(line, text, "", definition)))
        except TookTooLong:
            signs.append("")
            n_left -= 1
        except Exception:
            signs.append("")
        if len(signs) == 1:
            limit_s = max(LEAST_LIMIT_S, LIMIT_SHARE * (process_time() - began))
    return signs, runs


def is_telling(signs: str) -> bool:
    """Whether some claims hold, some fail, and none because a name is missing."""
    return signs.count("p") > 1 and "f" in signs and "t" not in signs


def _noted(
    checks: Sequence[Check], cases: Sequence[Any], student: Student, runs: list[list[int]]
) -> str:
    """The signs of all checks; `runs` takes the lines that run in each."""
    signs = ""
    for check in checks:
        with noted_lines() as lines:
            found = play_check(check, student, cases)
        runs.append(sorted(lines))
        signs += SIGNS.get(found.status, "-")
    return signs


def _signs(checks: Sequence[Check], cases: Sequence[Any], student: Student, change: Change) -> str:
    """The signs of the checks, up to one that fails after enough have passed."""
    signs, findings = "", []
    for check in checks:
        findings.append(found := play_check(check, student, cases))
        is_crash = found.cause.startswith(RAISES)
        signs += (
            "t" if found.cause in TRIVIAL else "-" if is_crash else SIGNS.get(found.status, "-")
        )
        if "t" in signs or (len(signs) > 2 and "p" not in signs):
            return signs
        if signs.count("p") >= N_OTHERS and question_in(change, findings):
            return signs
    is_plain = change.line and "f" in signs and not question_in(change, findings)
    return f"{signs}t" if is_plain else signs
