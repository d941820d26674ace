"""Rules of the decode loop, each a check of `DecodeLoop`; the prefill loop beside it is ours.

The exercise is about continuous batching: its bounds are in `loads`. The limits of the server and
fairness count as much. A rule takes an event and the state before it, and gives request and
sentence for each fault.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from labkit.labs.batching.checks.loops import rule
from labkit.labs.batching.log import DECODE, Event
from labkit.labs.batching.replay import State

Faults = Iterator[tuple[int | None, str]]

_rule = partial(rule, "DecodeLoop")


@_rule(
    "finished once",
    "finish",
    hint="Remove a finished request from your list of running requests.",
    gate=True,
)
def every_request_is_finished_once(event: Event, state: State) -> Faults:
    """No request is finished twice, or without having been loaded."""
    i = event.ids[0]
    if event.server == DECODE and i in state.finished:
        yield i, f"request {i} is finished a second time"
    elif event.server == DECODE and i not in state.loaded:
        yield i, f"request {i} is finished without having been loaded"


@_rule(
    "ends at its limit",
    "decode, finish",
    hint="Count the token that comes with a request as its first.",
    weight=2,
    gate=True,
)
def output_ends_where_it_should(event: Event, state: State) -> Faults:
    """An answer ends with the end-of-text token or at the limit; the prefill's token counts."""
    for i in event.ids if event.server == DECODE else ():
        n_made, n_output = state.n_made(i), state.n_output(i)
        if i not in state.running or n_output < 1:
            continue
        if event.what == "finish" and n_made < n_output:
            yield i, f"request {i} is finished with {n_made} tokens, but has to get {n_output}"
        elif event.what == "decode" and n_made == n_output:
            text = f"request {i} has all its {n_output} tokens, with that of the prefill"
            yield i, f"{text}, and gets one more"


@_rule(
    "decode memory",
    "load",
    hint="Add up what is reserved for all requests in memory.",
    weight=2,
    gate=True,
)
def decode_memory_is_never_exceeded(event: Event, state: State) -> Faults:
    """What is reserved on the decode server fits its capacity."""
    n_held = sum((state.reserved | {event.ids[0]: event.tokens}).values())
    capacity = state.run.setup.decode_capacity
    if n_held > capacity:
        text = f"{n_held} tokens are reserved on the decode server, which has {capacity}"
        yield event.ids[0], text


@_rule(
    "reservation covers growth",
    "decode",
    hint="Reserve `size` tokens: the prompt and the longest possible answer.",
    gate=True,
)
def reservations_cover_growth(event: Event, state: State) -> Faults:
    """No KV cache outgrows what was reserved for it."""
    for i in event.ids:
        n_cached = state.run.jobs[i].n_input + state.n_made(i)
        reserved = state.reserved.get(i, n_cached)
        if n_cached > reserved:
            text = (
                f"the KV cache of request {i} has {n_cached} tokens, and {reserved} were reserved"
            )
            yield i, text


@_rule(
    "moved once, freed once",
    "load, free stored, free, decode, end",
    hint="Call load_kv and free_stored when it joins, finish and free_kv when it is done.",
    gate=True,
)
def caches_are_moved_and_freed_once(event: Event, state: State) -> Faults:
    """Each KV cache is loaded once, then freed in the store at once, and freed here when done."""
    for i in event.ids if event.server == DECODE else ():
        if text := _wrong_move(event.what, i, state):
            yield i, f"request {i} {text}"
    for i in state.reserved if event.what == "end" else ():
        if i in state.finished:
            yield i, f"the memory of request {i} was never freed on the decode server"
    for i in state.stored if event.what == "end" else ():
        if i in state.loaded:
            yield i, f"the stored KV cache of request {i} was never freed"


def _wrong_move(what: str, i: int, state: State) -> str:
    """The fault of an event for request i; empty if there is none."""
    match what:
        case "load" if i in state.loaded:
            return "is loaded a second time"
        case "load" if i not in state.ready:
            return "is loaded before its KV cache has arrived"
        case "free stored" if i not in state.loaded:
            return "is freed in the store before it was loaded"
        case "free stored" if i not in state.stored:
            return "is freed in the store a second time"
        case "free" if i not in state.reserved:
            return "is freed, but has no memory on this server"
        case "decode" if i in state.running and i not in state.reserved:
            return "gets a token after its memory was freed"
        case "decode" if i in state.loaded and i in state.stored and state.n_made(i) > 1:
            return "has joined and got a token, and its memory in the store is not freed"
    return ""


@_rule(
    "decode batch size",
    "decode",
    hint="No request may join while `max_batch` requests run.",
    gate=True,
)
def decode_steps_keep_their_size(event: Event, state: State) -> Faults:
    """No decode step has more than `max_batch` requests."""
    n, most = len(event.ids), state.run.setup.decode_batch
    if n > most:
        yield event.ids[0], f"{n} requests are in a decode step, which may have {most}"


@_rule(
    "everybody runs",
    "decode",
    hint="Give decode_step the ids of all running requests, each id once.",
    gate=True,
)
def everybody_runs_in_every_step(event: Event, state: State) -> Faults:
    """Each decode step has exactly the requests that are loaded and not done."""
    for i, n_times in Counter(event.ids).items():
        if n_times > 1:
            yield i, f"request {i} is {n_times} times in one decode step"
        elif i not in state.loaded:
            yield i, f"request {i} is in a decode step without having been loaded"
    for i in state.running:
        if i not in event.ids and state.n_made(i) < state.n_output(i):
            yield i, f"request {i} is loaded and not done, and left out of a decode step"


@_rule(
    "done leave at once",
    "decode",
    hint="Finish and free right after the step that made the last token.",
    gate=True,
)
def who_is_done_leaves_at_once(event: Event, state: State) -> Faults:
    """At a decode step no finished request is in the batch or in memory."""
    for i in dict.fromkeys((*event.ids, *state.reserved)):
        is_in_batch = i in event.ids
        if i in state.finished:
            held = "in the batch" if is_in_batch else "in memory"
            yield i, f"request {i} is finished, and still {held}"
        elif i in state.running and not is_in_batch and state.n_made(i) >= state.n_output(i):
            yield i, f"request {i} has all its tokens, and is still in memory"


@_rule(
    "a request that fits joins",
    "decode",
    hint="Let requests in before every step, not only into an empty batch.",
    weight=3,
    gate=True,
)
def who_fits_joins_at_the_next_step(event: Event, state: State) -> Faults:
    """No decode step starts without the oldest waiting request if that one fits.

    A request that had all its tokens before the last step holds no slot any more.
    """
    job = state.oldest_can_join(len({*event.ids, *state.running} - state.overdue))
    if job is not None:
        text = f"a decode step of {len(event.ids)} starts without request {job.id}, which needs"
        yield job.id, f"{text} {state.room_for(job)}"


@_rule(
    "no request starves",
    "decode",
    hint="Let newer requests join before one that fits at most three times.",
    weight=3,
    gate=True,
)
def nobody_starves_on_the_way_to_decode(event: Event, state: State) -> Faults:
    """Newer requests join before the oldest that fits at most three times."""
    patience, jobs, n = state.run.setup.patience, state.run.jobs, state.run.setup.max_length
    for i in state.passed & state.ready.keys():
        if state.n_passed[i] >= patience:
            others = [jobs[j].size(n) - jobs[i].size(n) for j in event.ids]
            kind = "smaller" if max(others) < 0 else "larger" if min(others) > 0 else "newer"
            text = f"request {i} has waited longest of those that fit, and {kind} ones have joined"
            yield i, f"{text} before it at {patience + 1} steps, where {patience} are allowed"


@_rule(
    "one step in a call",
    "decode",
    hint="Return after one decode_step. New requests are in the next call's `arrivals()`.",
    weight=2,
    gate=True,
)
def one_call_makes_one_step(event: Event, state: State) -> Faults:
    """A call of `step` makes at most one decode step, so that a new request is seen at once.

    The log of a real model has no calls, and so says nothing of this.
    """
    if state.n_steps_in_call == 1:
        yield event.ids[0], "a second decode step is made in one call"


@_rule(
    "no idle decode",
    "step",
    hint="Do not wait for more requests. Run those that are there.",
    weight=2,
    gate=True,
)
def decode_never_idles_beside_work(event: Event, state: State) -> Faults:
    """A call does something if a request is loaded, or waits and fits."""
    if event.server != DECODE or not state.does_nothing:
        return
    text = "the decode loop does nothing, although request"
    for i in state.running:
        if state.n_made(i) < state.n_output(i):
            yield i, f"{text} {i} is loaded and has not all its tokens"
            return
    if job := state.oldest_can_join(0):
        yield job.id, f"{text} {job.id} can be loaded and needs {state.room_for(job)}"


@_rule(
    "all is served",
    "prefill, save, load, decode, end",
    hint="Keep a request that does not fit yet, and try it again.",
    weight=2,
    gate=True,
)
def decode_serves_to_the_end(event: Event, state: State) -> Faults:
    """The run goes on until every request is finished or refused, and then ends."""
    jobs, stopped = state.run.jobs, state.run.stopped
    still_open = jobs.keys() - state.finished.keys() - state.refused.keys()
    if event.what == "end" and stopped:
        yield min(still_open, default=None), stopped
    elif event.what != "end" and not still_open:
        text = f"there is a {event.what} after all requests are finished or refused"
        yield event.ids[0], text
