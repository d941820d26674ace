"""Stretches of time in a log: what each request was in, when a server was idle, what was held."""

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.labs.batching.serving.log import DECODE, Event, Run

HELD = "done, room still held"
_LASTING = {"prefill": "prefill", "save": "on its way", "load": "on its way", "decode": "decode"}


@dataclass(frozen=True, slots=True)
class Span:
    """What a request or a server was in, and when.

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
                reserved[i], filled[i] = event.tokens, run.jobs[i].n_input
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
    """What a request is in after an event: "" for nothing, None where that does not change."""
    if event.server == DECODE:
        after = {"ready": "waiting", "load": "paused", "decode": "paused", "finish": HELD}
        return after.get(event.what, "" if event.what == "free" else None)
    after = {"prefill": "", "save": "on its way", "finish": "", "refuse": ""}
    return after.get(event.what)


def _span(kind: str, begin_s: float, end_s: float) -> list[Span]:
    """One span, or none if it has no length or no kind."""
    return [Span(kind, begin_s, end_s)] if kind and end_s > begin_s else []
