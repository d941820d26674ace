"""The log of a run: every call of a primitive, by whom, when, for which requests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from labkit.labs.batching.serving.workload import Job, Setup

PREFILL, DECODE = "prefill server", "decode server"
WORDS = {  # what happened, in plain words
    "ready": "can be taken: {ids}",
    "prefill": "prefill of {ids}, {tokens:,} tokens with padding",
    "save": "KV cache of {ids} saved, {tokens:,} tokens",
    "free": "memory of {ids} freed",
    "load": "KV cache of {ids} loaded, {tokens:,} tokens reserved",
    "free stored": "stored KV cache of {ids} freed",
    "decode": "a decode step for {ids}",
    "finish": "{ids} finished",
    "refuse": "{ids} refused",
    "step": "the loop is called",
    "error": "the loop raises an error",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log. tokens: the room that it takes on its server or in the store."""

    begin_s: float
    end_s: float
    server: str
    what: str
    ids: tuple[int, ...] = ()
    tokens: int = 0
    note: str = ""

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.ids[:8])) + (", ..." if len(self.ids) > 8 else "")
        plural = "requests" if len(self.ids) > 1 else "request"
        words = WORDS[self.what].format(ids=f"{plural} {shown}", tokens=self.tokens)
        note = f" ({self.note})" if self.note else ""
        return f"{self.begin_s:9.4f} s, {self.server}: {words}{note}"


@dataclass(slots=True)
class Run:
    """What was asked for, what was there to serve it, and all that happened, in order.

    Calls of the loops that did nothing are in the log as lone "step" lines. stopped: why the run
    was ended before every request was finished or refused; empty if it was not.
    """

    jobs: dict[int, Job]
    setup: Setup
    log: list[Event] = field(default_factory=list)
    stopped: str = ""

    @property
    def arriving(self) -> list[Job]:
        """The requests in the order in which they come; at one time, as they were given."""
        return sorted(self.jobs.values(), key=lambda job: job.arrival_s)

    def events(self, *what: str, server: str | None = None) -> Iterator[Event]:
        """The events of these kinds, in order; of one server if it is named."""
        return (e for e in self.log if e.what in what and server in (None, e.server))

    def before(self, place: int, n_lines: int = 10) -> str:
        """The last lines up to a place in the log, in plain words."""
        lines = [event for event in self.log[: place + 1] if event.what != "step"]
        return "\n".join(map(str, lines[-n_lines:]))

    def most_calls(self) -> int:
        """How many calls these requests can ever need: loops that do their work stay far below."""
        n_tokens = sum(job.n_output(self.setup.max_length) for job in self.jobs.values())
        return 1000 + 60 * len(self.jobs) + 8 * n_tokens

    @property
    def makespan_s(self) -> float:
        """When the last thing ended."""
        return max((event.end_s for event in self.log if event.ids), default=0.0)


def jobs_by_id(jobs: Sequence[Job]) -> dict[int, Job]:
    """Raises: ValueError if two requests have one id."""
    found = {job.id: job for job in jobs}
    if len(found) < len(jobs):
        raise ValueError("two requests have the same id")
    return found
