"""Checks of `time_runs`.

It is about waiting: a sample begins and ends while the device is idle.

Clock and device are the check's own: the device works through what runs queue, the clock shows what
the host has lived through, and all that is asked of either is recorded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.compare import joined, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal, numbers_in

_timer = partial(check, "time_runs", gate=True)


@dataclass(frozen=True, slots=True)
class TimerCase:
    """Runs on a scripted device. work_s: seconds of each run, the untimed ones first.

    A host takes launch_s to queue a run; begins_busy: the device still works when we arrive.
    """

    work_s: tuple[float, ...]
    n_warmup: int
    launch_s: float = 0.125
    begins_busy: bool = False

    def __str__(self) -> str:
        return f"{self.n_repeats} timed runs after {self.n_warmup} warm-up runs"

    @property
    def n_repeats(self) -> int:
        return len(self.work_s) - self.n_warmup


class ScriptedDevice:
    """A clock and a device that works while the host goes on; records every use of either."""

    def __init__(self, case: TimerCase) -> None:
        self.case, self.now_s = case, 100.0
        self.idle_at_s = 103.0 if case.begins_busy else 0.0
        self.log: list[tuple[str, float, bool]] = []  # what, when, was the device busy

    def run(self) -> None:
        """Queue one run."""
        n_runs = self.count("run")
        if len(self.log) > 20 * len(self.case.work_s) + 40:
            raise ValueError("runs and readings without end")
        work_s = self.case.work_s[min(n_runs, len(self.case.work_s) - 1)]
        self._note("run")
        self.now_s += self.case.launch_s
        self.idle_at_s = max(self.idle_at_s, self.now_s) + work_s

    def synchronize(self) -> None:
        """Wait for the device."""
        self._note("synchronize")
        self.now_s = max(self.now_s, self.idle_at_s)

    def read_clock(self) -> float:
        """The host's time."""
        self._note("clock")
        return self.now_s

    def _note(self, what: str) -> None:
        if len(self.log) > 60 * len(self.case.work_s) + 100:
            raise ValueError("runs and readings without end")
        self.log.append((what, self.now_s, self.idle_at_s > self.now_s))

    def count(self, what: str) -> int:
        """How often something was done."""
        return sum(done == what for done, _, _ in self.log)


@dataclass(frozen=True)
class Timed:
    """One call of the student's `time_runs`: its actions, and the result."""

    device: ScriptedDevice
    got: Any

    def readings(self) -> list[tuple[tuple | None, int, tuple | None]]:
        """For each run: the last reading before it and the first after it, each or None.

        A reading counts for a run if no other run lies between.
        """
        log = self.device.log
        runs = [i for i, (what, _, _) in enumerate(log) if what == "run"]
        edges = [-1, *runs, len(log)]
        found = []
        for before, here, after in zip(edges, edges[1:], edges[2:], strict=False):
            opening = [entry for entry in log[before + 1 : here] if entry[0] == "clock"]
            closing = [entry for entry in log[here + 1 : after] if entry[0] == "clock"]
            found.append((opening[-1] if opening else None, closing[0] if closing else None))
        return found

    def why_late(self, reading: tuple) -> str:
        """Whether the student waits for the device right after this reading."""
        log = self.device.log
        following = next(i for i, entry in enumerate(log, start=1) if entry is reading)
        is_late = log[following : following + 1] and log[following][0] == "synchronize"
        return " Here you wait after the reading, which is too late." if is_late else ""

    def timed(self) -> list[tuple[tuple, tuple]]:
        """The readings around each run that should be timed. Raises Wrong if one is missing."""
        case = self.device.case
        pairs = self.readings()[-case.n_repeats :]
        if len(pairs) < case.n_repeats or any(None in pair for pair in pairs):
            n_timed = sum(None not in pair for pair in pairs)
            why = ""
            if self.device.count("run") and not self.device.count("clock"):
                why = "read_clock() was never called. Use the clock that is passed in."
            raise Wrong(
                "runs with read_clock() directly before and directly after",
                expected=show(case.n_repeats),
                got=show(n_timed),
                why=why,
            )
        return pairs


def play_of(student: Student, case: TimerCase) -> Timed:
    """The student's timer on the scripted device, played once for all checks."""

    def play() -> Timed:
        device = ScriptedDevice(case)
        got = student.time_runs(
            device.run, device.read_clock, device.synchronize, case.n_warmup, case.n_repeats
        )
        refuse_blank(got)
        return Timed(device, got)

    return student.once(("time_runs", case), play)


@_timer(hint="Write two loops: one without the clock, then one that times each run.")
def warm_up_runs_come_first_and_are_not_timed(student: Student, case: TimerCase) -> None:
    """There are `n_warmup` untimed runs, then `n_repeats` timed runs, and no others."""
    timed = play_of(student, case)
    n_runs, wanted = timed.device.count("run"), case.n_warmup + case.n_repeats
    if n_runs != wanted:
        is_timed = all(None not in pair for pair in timed.readings())
        is_missing = n_runs == case.n_repeats and is_timed
        why = "The warm-up runs are missing." if is_missing else ""
        raise Wrong("the number of runs", expected=show(wanted), got=show(n_runs), why=why)
    timed.timed()
    kept = timed.got
    n_kept = len(kept) if isinstance(kept, list | tuple) or getattr(kept, "ndim", 0) else 0
    if n_kept == wanted != case.n_repeats:
        raise Wrong(
            "the number of samples",
            expected=f"{case.n_repeats}, without those of the warm-up",
            got=show(n_kept),
            why="The warm-up runs must not be among the samples.",
        )


@_timer(hint="Call wait_for_device() before the first read_clock() of each sample.")
def the_device_is_idle_when_a_sample_begins(student: Student, case: TimerCase) -> None:
    """When a sample begins, the device has finished all earlier work."""
    played = play_of(student, case)
    for i, (opening, _) in enumerate(played.timed()):
        _, _, is_busy = opening
        if is_busy:
            raise Wrong(
                f"sample {i + 1} begins while the device still works",
                expected="wait_for_device() before the first read_clock()",
                got="read_clock() while the device is busy",
                why="The sample then contains earlier work." + played.why_late(opening),
            )


@_timer(hint="Call wait_for_device() after run(), before the second read_clock().")
def the_device_is_idle_when_a_sample_ends(student: Student, case: TimerCase) -> None:
    """When a sample ends, the device has finished the run."""
    played = play_of(student, case)
    late = played.why_late(played.timed()[-1][1])  # no run follows the last one
    for i, (_, closing) in enumerate(played.timed()):
        _, _, is_busy = closing
        if is_busy:
            raise Wrong(
                f"sample {i + 1} ends while the device still works",
                expected="wait_for_device() between run() and the second read_clock()",
                got="read_clock() while the device is busy",
                why=f"The sample is then the time to queue the work, not the time to do it.{late}",
            )


@_timer(weight=1.5, hint="Append one difference of two clock values for each run. Return the list.")
def samples_are_raw_one_per_run(student: Student, case: TimerCase) -> None:
    """The function returns the seconds of each run, in order."""
    timed = play_of(student, case)
    samples = numbers_in(timed.got, "the samples")
    kept = samples[-case.n_repeats :]  # a warm-up that was kept is another check's affair
    wanted = [closing[1] - opening[1] for opening, closing in timed.timed()]
    if len(kept) == len(wanted) and _close(kept, wanted):
        return
    raise Wrong(
        "the samples",
        expected=show([round(each, 4) for each in wanted]),
        got=show(timed.got),
        why=_slip(kept, wanted, timed),
    )


@_timer(
    weight=0.5,
    hint="Check both counts first, and raise ValueError.",
    applies_to=lambda case: case.n_warmup > 0,
    gate=False,
)
def counts_that_time_nothing_are_refused(student: Student, case: TimerCase) -> None:
    """If n_repeats < 1 or n_warmup < 0, there is a ValueError before any run."""
    none, negative = "Without a run there is no time.", "A number of runs is not negative."
    refused = (
        (case.n_warmup, 0, none),
        (-1, case.n_repeats, negative),
        (case.n_warmup, -2, negative),
        (-2, case.n_repeats, negative),
    )
    for n_warmup, n_repeats, why in refused:
        device = ScriptedDevice(case)
        expect_refusal(
            lambda device=device, n=n_warmup, m=n_repeats: student.time_runs(
                device.run, device.read_clock, device.synchronize, n, m
            ),
            "ValueError",
            f"{n_repeats} timed runs after {n_warmup} warm-up runs",
            why=why,
        )
        if device.count("run"):
            raise Wrong("the ValueError", expected="before any run", got="after some runs")
    timed = play_of(student, case)
    if not timed.device.count("run"):
        raise Wrong("the number of runs if both counts are valid", expected="some", got="none")


def _close(got: Sequence[float], wanted: Sequence[float]) -> bool:
    pairs = zip(got, wanted, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) for a, b in pairs)


def _slip(got: Sequence[float], wanted: Sequence[float], played: Timed) -> str:
    """The sentences for the samples that known mistakes give."""
    readings, case = played.timed(), played.device.case
    first_s = readings[0][0][1]
    if len(got) == 1 < len(wanted):
        return "There is one number for all runs. Return one for each run."
    slips = {
        "The samples were sorted. Return them in the order of the runs.": sorted(wanted),
        "These are milliseconds. Return seconds.": [1000 * each for each in wanted],
        "That is the mean. Return each sample.": [sum(wanted) / len(wanted)] * len(wanted),
        "Each sample begins with the first run. Read the clock again before each run.": [
            closing[1] - first_s for _, closing in readings
        ],
        "The first sample is missing.": wanted[1:],
        "The slowest sample is missing.": [each for each in wanted if each < max(wanted)],
    }
    first_runs = played.readings()[: case.n_repeats]
    if case.n_warmup and all(None not in pair for pair in first_runs):
        warm_up = "These samples begin with the warm-up runs. Return those of the runs after it."
        slips[warm_up] = [closing[1] - opening[1] for opening, closing in first_runs]
    same = (text for text, made in slips.items() if len(made) == len(got) and _close(got, made))
    if why := joined(same):
        return why
    is_clock = len(got) == len(wanted) and min(got) >= 100
    if is_clock and all(a < b for a, b in pairwise([*got])):
        return "These are clock values. A sample is the difference of two."
    return ""


OPEN_CASES = {
    "time_runs": [
        TimerCase(work_s=(8.0, 3.0, 0.5, 0.75, 0.25), n_warmup=2),
        TimerCase(work_s=(0.5, 1.5), n_warmup=0, begins_busy=True),
        TimerCase(work_s=(4.0, 0.5), n_warmup=1, launch_s=0.0625),
    ],
}
