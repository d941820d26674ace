"""The log of a run: every call of a primitive, by whom, when, for which requests.

Also spans of time: the state of each request, idle servers, and held memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labkit.labs.batching.workload import Job, Setup

PREFILL, DECODE, CARD = "prefill server", "decode server", "card"
WORDS = {  # what happened, in plain words
    "ready": "can be taken: {ids}",
    "prefill": "prefill of {ids}, {tokens:,} tokens",
    "save": "KV cache of {ids} saved, {tokens:,} tokens",
    "free": "memory of {ids} freed",
    "load": "KV cache of {ids} loaded, {tokens:,} tokens reserved",
    "free stored": "stored KV cache of {ids} freed",
    "decode": "a decode step for {ids}",
    "finish": "{ids} finished",
    "refuse": "{ids} refused",
    "pass": "a pass of {tokens:,} tokens for {ids}",
    "preempt": "{ids} preempted",
    "step": "the loop is called",
    "error": "the loop raises an error",
}
HELD = "done, room still held"
_LASTING = {"prefill": "prefill", "save": "on its way", "load": "on its way", "decode": "decode"}


class Piece(NamedTuple):
    """What a pass computes of one request: n tokens from `start` on, and the blocks they lie in."""

    id: int
    start: int
    n: int
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log. tokens: the room that it takes on its server or in the store.

    pieces: what a pass computes, if it is one.
    """

    begin_s: float
    end_s: float
    server: str
    what: str
    ids: tuple[int, ...] = ()
    tokens: int = 0
    note: str = ""
    pieces: tuple[Piece, ...] = ()

    def __str__(self) -> str:
        shown = ", ".join(map(str, self.ids[:8])) + (", ..." if len(self.ids) > 8 else "")
        plural = "requests" if len(self.ids) > 1 else "request"
        words = WORDS[self.what].format(ids=f"{plural} {shown}", tokens=self.tokens)
        note = f" ({self.note})" if self.note else ""
        return f"{self.begin_s:9.4f} s, {self.server}: {words}{note}"


@dataclass(slots=True)
class Run:
    """The jobs, the setup of the servers, and all events, in order.

    Calls of the loops that did nothing are in the log as lone "step" lines. stopped: why the run
    was ended before every request was finished or refused; empty if it was not. error: what a loop
    raised, if that was why.
    """

    jobs: dict[int, Job]
    setup: Setup
    log: list[Event] = field(default_factory=list)
    stopped: str = ""
    error: Exception | None = None

    @property
    def arriving(self) -> list[Job]:
        """The requests in the order in which they come; at one time, as they were given."""
        return sorted(self.jobs.values(), key=lambda job: job.arrival_s)

    def events(self, *what: str, server: str | None = None) -> Iterator[Event]:
        """The events of these kinds, in order; of one server if it is named."""
        return (e for e in self.log if e.what in what and server in (None, e.server))

    def before(self, place: int, n_lines: int = 10) -> str:
        """The last lines up to a place in the log, in plain words."""
        lines = [event for event in self.log[: place + 1] if self._is_shown(event)]
        return "\n".join(map(str, lines[-n_lines:]))

    @property
    def shown(self) -> list[Event]:
        """All events but calls of loops, and what the log of a card derives from its passes."""
        return [event for event in self.log if self._is_shown(event)]

    def _is_shown(self, event: Event) -> bool:
        is_of_card = self.log[0].server == CARD  # an event is in it
        return event.what != "step" and (event.server == CARD or not is_of_card)

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


@dataclass(frozen=True, slots=True)
class Span:
    """The state of a request or a server, and its times.

    kind: "waiting", "prefill", "on its way", "decode", "paused" (loaded, but not in a step) or
    `HELD` for a request, "idle" for a server.
    """

    kind: str
    begin_s: float
    end_s: float


def lanes(run: Run) -> dict[int, list[Span]]:
    """What each request went through; requests in the order in which they came."""
    found: dict[int, list[Span]] = {job.id: [] for job in run.arriving}
    since = {i: ("waiting", run.jobs[i].arrival_s) for i in found}  # what has not ended yet
    for event in run.log:
        follows = _what_follows(event)
        for i in event.ids if follows is not None else ():
            kind, begin_s = since.pop(i, ("", 0.0))
            found[i] += _span(kind, begin_s, event.begin_s)
            found[i] += _span(_LASTING.get(event.what, ""), event.begin_s, event.end_s)
            if follows:
                since[i] = (follows, event.end_s)
    for i, (kind, begin_s) in since.items():
        found[i] += _span(kind, begin_s, run.makespan_s)
    return found


def idle(run: Run, server: str) -> list[Span]:
    """When a server computed nothing, from 0 to the end of the run."""
    gaps, now_s = [], 0.0
    for event in run.events("prefill", "decode", server=server):
        gaps += _span("idle", now_s, event.begin_s)
        now_s = max(now_s, event.end_s)
    return gaps + _span("idle", now_s, run.makespan_s)


def memory(run: Run) -> list[tuple[float, int, int]]:
    """How many tokens were reserved on the decode server and how many of them filled, since when.

    Triples (since_s, reserved, filled), in order.
    """
    reserved: dict[int, int] = {}
    filled: dict[int, int] = {}
    found = [(0.0, 0, 0)]
    for event in run.events("load", "decode", "free", server=DECODE):
        for i in event.ids:
            if event.what == "load":
                reserved[i] = event.tokens
                filled.setdefault(i, run.jobs[i].n_input)
            elif event.what == "decode":
                filled[i] = filled.get(i, run.jobs[i].n_input) + 1
            else:
                reserved.pop(i, None)
                filled.pop(i, None)
        found.append((event.begin_s, sum(reserved.values()), sum(filled.values())))
    return found


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans of one kind that touch, as one."""
    found: list[Span] = []
    for span in spans:
        if found and span.begin_s <= found[-1].end_s:
            span = Span(span.kind, found.pop().begin_s, span.end_s)
        found.append(span)
    return found


def _what_follows(event: Event) -> str | None:
    """The state of a request after an event: "" for none, None if it does not change."""
    if event.server == DECODE:
        after = {"ready": "waiting", "load": "paused", "decode": "paused", "finish": HELD}
        return after.get(event.what, "" if event.what == "free" else None)
    after = {"prefill": "", "save": "on its way", "finish": "", "refuse": "", "preempt": "waiting"}
    return after.get(event.what)


def _span(kind: str, begin_s: float, end_s: float) -> list[Span]:
    """One span, or none if it has no length or no kind."""
    return [Span(kind, begin_s, end_s)] if kind and end_s > begin_s else []
