"""Rules of the prefill loop, each a check of `PrefillLoop`; the decode loop beside it is ours.

The exercise is about batches of similar prompts: their bound is in `loads`. The limits of the
servers and fairness count as much. A rule takes an event and the state before it, and gives request
and sentence for each fault.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice

from labkit.batching import LOOK_AHEAD
from labkit.labs.batching.checks.decode import decode_serves_to_the_end
from labkit.labs.batching.checks.loops import rule
from labkit.labs.batching.log import PREFILL, Event
from labkit.labs.batching.replay import State

Faults = Iterator[tuple[int | None, str]]

_rule = partial(rule, "PrefillLoop")


@_rule(
    "prefilled once",
    "prefill, end",
    hint="Take a request out of the queue when it joins a batch, not before.",
    also=(decode_serves_to_the_end,),
    weight=2,
    gate=True,
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
    "first token counts",
    "finish, save, end",
    hint='Call add_token with the first token, and look whether the state is "done".',
    gate=True,
)
def the_first_token_counts(event: Event, state: State) -> Faults:
    """A request whose first token is its last is finished at once; all others are saved."""
    for i in event.ids:
        n_output = state.n_output(i)
        if event.what == "save" and n_output == 1:
            yield i, f"request {i} is saved for the decode server, but its first token is its last"
        elif event.what == "save" or event.server != PREFILL:
            continue
        elif i not in state.n_tokens:
            yield i, f"request {i} is finished before its prefill"
        elif n_output > 1:
            yield i, f"request {i} is finished with one token, but has to get {n_output}"
        elif i in state.finished:
            yield i, f"request {i} is finished a second time"
    for i in state.n_tokens if event.what == "end" else ():
        if state.n_output(i) == 1 and i not in state.finished and i not in state.saved:
            yield i, f"request {i} had all its tokens, and was never finished"


@_rule(
    "refused only what cannot run",
    "prefill, refuse, end",
    hint="Compare it with three empty memories: here, the store, and the decode server.",
    gate=True,
)
def only_what_cannot_run_is_refused(event: Event, state: State) -> Faults:
    """What can never be served is refused with a reason, and nothing else is."""
    why = {i: state.run.setup.refuses(state.run.jobs[i]) for i in (*event.ids, *state.hopeless)}
    for i in event.ids:
        if event.what == "prefill" and why[i]:
            yield i, f"request {i} is prefilled, but can never be served: {why[i]}"
        elif event.what == "refuse" and not why[i]:
            rooms = state.run.setup.rooms(state.run.jobs[i])
            full = [name for name, (size, capacity) in rooms.items() if size == capacity]
            exactly = f": it fills {' and '.join(full)} exactly" if full else ""
            yield i, f"request {i} is refused, but it could be served{exactly}"
        elif event.what == "refuse" and i in state.refused:
            yield i, f"request {i} is refused a second time"
        elif event.what == "refuse" and not event.note.strip():
            yield i, f"request {i} is refused without a reason"
    for i in state.run.jobs if event.what == "end" else ():
        if i in state.hopeless:
            yield i, f"request {i} can never run, and was not refused: {why[i]}"


@_rule(
    "prefill memory",
    "prefill",
    hint="A batch takes (its longest prompt) x (its requests) of `free_tokens`.",
    weight=2,
    gate=True,
)
def prefill_memory_is_never_exceeded(event: Event, state: State) -> Faults:
    """What is held on the prefill server, padding included, fits its capacity."""
    held = [room for i, room in state.prefill_room.items() if i not in event.ids]
    n_held, capacity = sum(held) + event.tokens, state.run.setup.prefill_capacity
    if n_held > capacity:
        text = f"{n_held} tokens are held on the prefill server, which has {capacity}"
        yield event.ids[0], text


@_rule(
    "saved then freed once",
    "save, free, end",
    hint="For each request of a batch, call save_kv if it goes on, then free_kv once.",
    gate=True,
)
def caches_are_saved_then_freed_once(event: Event, state: State) -> Faults:
    """Each KV cache that will be needed is saved once; each is freed once, after that."""
    for i in event.ids:
        if event.what == "save" and i in state.saved:
            yield i, f"request {i} is saved a second time"
        elif event.what == "save" and i not in state.prefill_room:
            yield i, f"request {i} is saved, but has no memory on this server"
        elif event.what == "save" or event.server != PREFILL:
            continue
        elif i not in state.prefill_room:
            yield i, f"request {i} is freed, but has no memory on this server"
        elif i in state.unsaved:
            yield i, f"request {i} is freed before it was saved"
    for i in state.prefill_room if event.what == "end" else ():
        yield i, f"the prefill server never freed the memory of request {i}"


@_rule(
    "similar lengths",
    "prefill",
    hint="Compare each new prompt with the shortest and the longest of the batch.",
    weight=2,
    gate=True,
)
def prompts_of_a_batch_are_similar(event: Event, state: State) -> Faults:
    """The prompts of a batch differ by no more than `tolerance` tokens."""
    lengths = {state.run.jobs[i].n_input: i for i in event.ids}
    shortest, longest, tolerance = min(lengths), max(lengths), state.run.setup.tolerance
    if longest - shortest > tolerance:
        text = f"prompts of {shortest} and {longest} tokens are in one batch, with a tolerance of "
        yield lengths[longest], text + str(tolerance)


@_rule(
    "prefill batch size",
    "prefill",
    hint="Stop adding when the batch has `max_batch` requests.",
    gate=True,
)
def prefill_batches_keep_their_size(event: Event, state: State) -> Faults:
    """No batch has more than `max_batch` requests."""
    n, most = len(event.ids), state.run.setup.prefill_batch
    if n > most:
        yield event.ids[0], f"{n} requests are in a prefill batch, which may have {most}"


@_rule(
    "batches are filled",
    "prefill",
    hint="Look past requests that do not match: later ones may match.",
    weight=2,
    gate=True,
)
def prefill_batches_are_filled(event: Event, state: State) -> Faults:
    """Each of the first 256 that wait joins if it fits and is as long as one in the batch."""
    lengths = [state.run.jobs[i].n_input for i in event.ids]
    has_room = max(lengths) * (len(lengths) + 1) <= state.prefill_free
    if len(lengths) >= state.run.setup.prefill_batch or not has_room:
        return
    for i, job in islice(state.waiting.items(), LOOK_AHEAD):
        is_alike = job.n_input in lengths and i not in event.ids
        if is_alike and sum(lengths) + job.n_input <= state.store_free:
            text = f"a batch of {len(lengths)} starts without request {i}, which waits, fits, and "
            yield i, f"{text}has {job.n_input} tokens like one of them"


@_rule(
    "no idle prefill", "step", hint="Do not wait for more requests of the same length.", gate=True
)
def prefill_never_idles_beside_work(event: Event, state: State) -> Faults:
    """A call does something if the request that has waited longest fits, here and in the store."""
    job = next(iter(state.waiting.values()), None)
    if event.server == PREFILL and state.does_nothing and job and state.has_prefill_room(job):
        text = f"the prefill loop does nothing, although request {job.id} with {job.n_input} tokens"
        yield job.id, f"{text} waits, and {min(state.prefill_free, state.store_free)} fit"


@_rule(
    "sent before the next",
    "prefill",
    hint="Save or finish all requests of a batch before you compute the next one.",
    gate=True,
)
def a_batch_is_sent_before_the_next(event: Event, state: State) -> Faults:
    """Every computed request is saved or finished before the next batch is computed."""
    for i in state.unsent.keys() - {*event.ids}:
        yield i, f"a batch starts, and request {i} from one before is not saved or finished"


@_rule(
    "no request is passed over",
    "prefill",
    hint="Start each batch with the oldest request that fits.",
    weight=3,
    gate=True,
)
def nobody_is_passed_over(event: Event, state: State) -> Faults:
    """Equal lengths go in order of arrival; few batches leave out the oldest that fits."""
    older: dict[int, int] = {}  # request by length: the oldest one that is left
    for i, job in state.waiting.items():
        if i in event.ids and job.n_input in older:
            text = f"request {i} goes before request {older[job.n_input]}, which is as long and has"
            yield older[job.n_input], f"{text} waited longer"
            break
        if i not in event.ids and job.n_input <= state.store_free:
            older.setdefault(job.n_input, i)
    oldest, patience = state.oldest_to_prefill(), state.run.setup.patience
    if oldest and oldest.id not in event.ids and state.n_left_out[oldest.id] == patience:
        text = f"request {oldest.id} has waited longest and fits, and {patience + 1} batches have"
        yield oldest.id, f"{text} gone without it, where {patience} may"


@_rule(
    "storage",
    "save",
    hint="`storage_room()` must hold all prompts of the batch.",
    weight=2,
    gate=True,
)
def the_store_is_never_exceeded(event: Event, state: State) -> Faults:
    """What waits between the servers fits `storage`: prefill does not run ahead without limit."""
    n_stored = sum((state.stored | {event.ids[0]: event.tokens}).values())
    room = state.run.setup.storage
    if room is not None and n_stored > room:
        yield event.ids[0], f"{n_stored} tokens are stored, with room for {room}"
