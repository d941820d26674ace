"""A quick look at many changes of a definition: which of them break some claims, and not all.

It plays in the process of the code, so its findings are hints that may be forged: the keys of
questions come from checks that are played from outside.
"""

from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

from labkit.bridge.local import LocalChannel
from labkit.bridge.student import Student
from labkit.checks.core import Check, checks_of, open_cases_of, play_check
from labkit.checks.kernel import TookTooLong, time_limit
from labkit.checks.why.asked import N_OTHERS, TRIVIAL, in_silence

LEAST_LIMIT_S, LIMIT_SHARE = 0.3, 8  # of a play: at least, and times that of the first one
MOST_STOPS = 2
SIGNS = {"passed": "p", "failed": "f"}


def survey(
    topic: str,
    exercise: str,
    definitions: Sequence[str],
    namespace: Mapping[str, Any],
    budget_s: float,
) -> list[str]:
    """What the checks find of each definition, a sign for each check, until the time is up.

    "p" passed, "f" failed, "t" failed because a name is missing, "-" anything else; "" for a
    definition that raises, or does not end. The first definition is the unchanged one.
    """
    checks, cases = checks_of(topic)[exercise], open_cases_of(topic)[exercise]
    names: dict[str, Any] = {}
    channel = LocalChannel(names)  # one for all: to make it takes longer than a play
    started, found, limit_s, n_left = process_time(), [], budget_s, MOST_STOPS
    for definition in definitions:
        began = process_time()
        if began - started > budget_s or not n_left:
            break
        try:
            with in_silence(), time_limit(limit_s, process_time):
                names.clear()
                names.update(namespace)
                exec(compile(definition, "<changed>", "exec"), names)
                channel.student = Student(channel)
                found.append(_signs(checks, cases, channel.student))
        except TookTooLong:
            found.append("")
            n_left -= 1
        except Exception:
            found.append("")
        if len(found) == 1:
            limit_s = max(LEAST_LIMIT_S, LIMIT_SHARE * (process_time() - began))
    return found


def _signs(checks: Sequence[Check], cases: Sequence[Any], student: Student) -> str:
    """The signs of the checks, up to one that fails after enough have passed."""
    signs = ""
    for check in checks:
        found = play_check(check, student, cases)
        signs += "t" if found.cause in TRIVIAL else SIGNS.get(found.status, "-")
        is_hopeless = "t" in signs or (signs.count("f") > 2 and "p" not in signs)
        if is_hopeless or ("f" in signs and signs.count("p") >= N_OTHERS):
            break
    return signs
