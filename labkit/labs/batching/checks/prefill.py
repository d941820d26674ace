"""Rules of the prefill loop, each a check of `PrefillLoop`; the decode loop beside it is ours.

The exercise is about batches that fill their budget: their bound is in `loads`. The limits of the
servers and fairness count as much. A rule takes an event and the state before it, and gives request
and sentence for each fault.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from labkit.labs.batching.checks.decode import decode_serves_to_the_end
from labkit.labs.batching.checks.loops import rule
from labkit.labs.batching.log import PREFILL, Event
from labkit.labs.batching.replay import State

Faults = Iterator[tuple[int | None, str]]

_rule = partial(rule, "PrefillLoop", gate=True)


@_rule(
    "prefilled once",
    "prefill, end",
    hint="Take a request out of the queue when it joins a batch, not before.",
    also=(decode_serves_to_the_end,),
    weight=2,
)
def every_request_is_prefilled_once(event: Event, state: State) -> Faults:
    """Each request that can be served is in one prefill batch, and the run goes to its end."""
    for i, n_times in Counter(event.ids).items():
        if n_times > 1 or i in state.n_tokens:
            yield i, f"request {i} is prefilled again"
    for i, job in state.run.jobs.items() if event.what == "end" else ():
        if not (i in state.n_tokens or i in state.refused or state.run.setup.refuses(job)):
            yield i, f"request {i} was never prefilled"


@_rule(
    "refused only what cannot run",
    "prefill, refuse, end",
    hint="Compare it with three empty memories: here, the store, and the decode server.",
)
def only_what_cannot_run_is_refused(event: Event, state: State) -> Faults:
    """What can never be served is refused with a reason, and nothing else is."""
    why = {i: state.run.setup.refuses(state.run.jobs[i]) for i in (*event.ids, *state.hopeless)}
    for i in event.ids:
        if event.what == "prefill" and why[i]:
            yield i, f"request {i} is prefilled, but can never be served: {why[i]}"
        elif event.what == "refuse" and not why[i]:
            yield i, f"request {i} is refused, but it could be served{_exactly(i, state)}"
        elif event.what == "refuse" and i in state.refused:
            yield i, f"request {i} is refused a second time"
        elif event.what == "refuse" and not event.note.strip():
            yield i, f"request {i} is refused without a reason"
    for i in state.run.jobs if event.what == "end" else ():
        if i in state.hopeless:
            yield i, f"request {i} can never run, and was not refused: {why[i]}"


def _exactly(i: int, state: State) -> str:
    """Which memories a request fills, and whether it is longer than the budget, in words."""
    setup, job = state.run.setup, state.run.jobs[i]
    full = [name for name, (size, capacity) in setup.rooms(job).items() if size == capacity]
    if full:
        return f": it fills {' and '.join(full)} exactly"
    return ": alone it may exceed the budget" if job.n_input > setup.prefill_budget else ""


@_rule(
    "prefill budget",
    "prefill",
    hint="Before a request joins, add up the prompts of the batch with its own.",
    weight=3,
)
def prefill_batches_keep_their_limits(event: Event, state: State) -> Faults:
    """A batch has at most `max_batch` requests, and with several at most `budget` tokens."""
    setup, n_tokens = state.run.setup, _n_tokens(event, state)
    if len(event.ids) > setup.prefill_batch:
        text = f"{len(event.ids)} requests are in a prefill batch, which may have"
        yield event.ids[0], f"{text} {setup.prefill_batch}"
    if len(event.ids) > 1 and n_tokens > setup.prefill_budget:
        text = f"a batch of {len(event.ids)} prompts has {n_tokens} tokens, with a budget of"
        yield event.ids[-1], f"{text} {setup.prefill_budget}"


@_rule(
    "prefill memory",
    "prefill, save",
    hint="All prompts of a batch together must fit into `free_tokens()` and `storage_room()`.",
    weight=3,
)
def memories_are_never_exceeded(event: Event, state: State) -> Faults:
    """What the prefill server and the store hold never exceeds their capacity."""
    setup = state.run.setup
    if event.what == "save":
        n_stored = sum((state.stored | {event.ids[0]: event.tokens}).values())
        if setup.storage is not None and n_stored > setup.storage:
            yield event.ids[0], f"{n_stored} tokens are stored, with room for {setup.storage}"
        return
    held = [room for i, room in state.prefill_room.items() if i not in event.ids]
    n_held = sum(held) + _n_tokens(event, state)
    if n_held > setup.prefill_capacity:
        text = f"{n_held} tokens are held on the prefill server, which has"
        yield event.ids[0], f"{text} {setup.prefill_capacity}"


@_rule(
    "sent before the next",
    "prefill, finish, save, free, end",
    hint="After a prefill, finish or save each request of the batch, then call free_kv once.",
    weight=3,
)
def each_is_sent_once_before_the_next(event: Event, state: State) -> Faults:
    """A computed request is finished or saved, then freed, once, before the next batch."""
    if event.what == "prefill":
        for i in state.unsent.keys() - {*event.ids}:
            yield i, f"a batch starts, and request {i} from one before is not saved or finished"
    elif event.what == "end":
        yield from _never_sent(state)
    elif event.server == PREFILL:
        for i in event.ids:
            if text := _sent_wrongly(event.what, i, state):
                yield i, text


def _sent_wrongly(what: str, i: int, state: State) -> str:
    """What is wrong if request i is saved, finished or freed now; empty if nothing is."""
    n_output = state.n_output(i)
    faults = {
        "save": {
            f"request {i} is saved a second time": i in state.saved,
            f"request {i} is saved, but has no memory on this server": i not in state.prefill_room,
            f"request {i} is saved for the decode server, but {_why_over(i, state)}": n_output == 1,
        },
        "finish": {
            f"request {i} is finished before its prefill": i not in state.n_tokens,
            f"request {i} is finished with one token, but has to get {n_output}": n_output > 1,
            f"request {i} is finished a second time": i in state.finished,
        },
        "free": {
            f"request {i} is freed, but has no memory on this server": i not in state.prefill_room,
            f"request {i} is freed before it was saved": i in state.unsaved,
        },
    }
    return next((text for text, is_so in faults[what].items() if is_so), "")


def _why_over(i: int, state: State) -> str:
    """Why the first token of a request is its last, in words."""
    is_end = state.run.jobs[i].stops_after == 1
    return f"its first token {'ends its text' if is_end else 'is all that it may have'}"


def _never_sent(state: State) -> Faults:
    """What is left at the end."""
    for i in state.n_tokens:
        if state.n_output(i) == 1 and i not in state.finished and i not in state.saved:
            yield i, f"request {i} had all its tokens, and was never finished"
    for i in state.prefill_room:
        yield i, f"the prefill server never freed the memory of request {i}"


@_rule(
    "batches are filled",
    "prefill",
    hint="Add the oldest that wait, one by one, until the next one does not fit.",
    weight=3,
)
def prefill_batches_are_filled(event: Event, state: State) -> Faults:
    """A batch leaves out the oldest of the others only if it does not fit beside them."""
    setup = state.run.setup
    left = next((job for i, job in state.waiting.items() if i not in event.ids), None)
    if left is None or len(event.ids) >= setup.prefill_batch:
        return
    n_tokens = _n_tokens(event, state) + left.n_input
    if n_tokens <= min(setup.prefill_budget, state.prefill_free, state.store_free):
        text = f"a batch of {len(event.ids)} starts without request {left.id}, which waits:"
        yield left.id, f"{text} together they have {n_tokens} tokens, and fit"


@_rule("no idle prefill", "step", hint="Do not wait for more requests.")
def prefill_never_idles_beside_work(event: Event, state: State) -> Faults:
    """A call does something if the request that has waited longest fits, here and in the store."""
    job = next(iter(state.waiting.values()), None)
    if event.server == PREFILL and state.does_nothing and job and state.has_prefill_room(job):
        text = f"the prefill loop does nothing, although request {job.id} with {job.n_input} tokens"
        yield job.id, f"{text} waits, and {min(state.prefill_free, state.store_free)} fit"


@_rule(
    "no request is passed over",
    "prefill",
    hint="Start each batch with the oldest request that fits.",
    weight=3,
)
def nobody_is_passed_over(event: Event, state: State) -> Faults:
    """Equal lengths go in order of arrival; few batches leave out the oldest that fits."""
    older: dict[int, int] = {}  # request by length: the oldest one that is left
    for i, job in state.waiting.items():
        if i in event.ids and job.n_input in older:
            text = f"request {i} goes before request {older[job.n_input]}, which is as long and has"
            by_id = " (the batch is in the order of ids)" if _is_by_id(event, state) else ""
            yield older[job.n_input], f"{text} waited longer{by_id}"
            break
        if i not in event.ids and job.n_input <= state.store_free:
            older.setdefault(job.n_input, i)
    oldest, patience = state.oldest_to_prefill(), state.run.setup.patience
    if oldest and oldest.id not in event.ids and state.n_left_out[oldest.id] == patience:
        text = f"request {oldest.id} has waited longest and fits, and {patience + 1} batches have"
        yield oldest.id, f"{text} gone without it, where {patience} may"


def _is_by_id(event: Event, state: State) -> bool:
    """Whether several requests are in the order of their ids, and not in that of their arrival."""
    arrived = [i for i in state.waiting if i in event.ids]
    return len(event.ids) > 1 and list(event.ids) == sorted(event.ids) != arrived


def _n_tokens(event: Event, state: State) -> int:
    """The prompts of a batch, in tokens."""
    return sum(state.run.jobs[i].n_input for i in event.ids)
