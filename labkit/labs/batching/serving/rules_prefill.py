"""What must hold on the prefill server. Each rule reads one thing off the log."""

from collections import Counter
from collections.abc import Iterator

from labkit.labs.batching.serving.log import PREFILL, Run
from labkit.labs.batching.serving.replay import Fault, idle_calls, replay, too_many


def prefilled_once(run: Run) -> Iterator[Fault]:
    """Each request that can be served is in exactly one prefill batch, once."""
    for place, event, state in replay(run):
        if event.what == "prefill":
            for i, n_times in Counter(event.ids).items():
                if n_times > 1 or i in state.n_tokens:
                    yield Fault(i, place, f"request {i} is prefilled again")
        elif event.what == "end":
            for i, job in run.jobs.items():
                if not (i in state.n_tokens or i in state.refused or run.setup.refuses(job)):
                    yield Fault(i, place, f"request {i} was never prefilled")


def first_token_counts(run: Run) -> Iterator[Fault]:
    """The prefill loop finishes those who need no second token, and saves only the others."""
    for place, event, state in replay(run):
        for i in event.ids:
            n_output = state.n_output(i)
            if event.what == "finish" and event.server == PREFILL:
                if i not in state.n_tokens:
                    yield Fault(i, place, f"request {i} is finished before its prefill")
                elif n_output > 1:
                    text = f"request {i} is finished with one token, but has to get {n_output}"
                    yield Fault(i, place, text)
                elif i in state.finished:
                    yield Fault(i, place, f"request {i} is finished a second time")
            elif event.what == "save" and n_output == 1:
                text = (
                    f"request {i} is saved for the decode server, but its first token is its last"
                )
                yield Fault(i, place, text)
        if event.what == "end":
            for i in state.n_tokens:
                if state.n_output(i) == 1 and i not in state.finished and i not in state.saved:
                    yield Fault(i, place, f"request {i} had all its tokens, and was never finished")


def refused_only_what_cannot_run(run: Run) -> Iterator[Fault]:
    """Refused, once and with a reason, is who can never be served, and nobody else."""
    seen: set[int] = set()
    why = {i: run.setup.refuses(job) for i, job in run.jobs.items()}
    for place, event, state in replay(run):
        for i in event.ids:
            if event.what == "ready":
                seen.add(i)
            elif event.what == "prefill" and why[i]:
                yield Fault(
                    i, place, f"request {i} is prefilled, but can never be served: {why[i]}"
                )
                seen.discard(i)
            elif event.what == "refuse":
                if not why[i]:
                    yield Fault(i, place, f"request {i} is refused, but it could be served")
                elif i in state.refused:
                    yield Fault(i, place, f"request {i} is refused a second time")
                elif not event.note.strip():
                    yield Fault(i, place, f"request {i} is refused without a reason")
        if event.what == "end":
            for i in run.jobs:
                if i in seen - state.refused.keys() and why[i]:
                    yield Fault(
                        i, place, f"request {i} can never run, and was not refused: {why[i]}"
                    )


def prefill_memory(run: Run) -> Iterator[Fault]:
    """What is held on the prefill server, padding included, never exceeds its room."""
    for place, event, state in replay(run):
        if event.what == "prefill":
            held = {i: room for i, room in state.prefill_room.items() if i not in event.ids}
            n_held, capacity = sum(held.values()) + event.tokens, run.setup.prefill_capacity
            if n_held > capacity:
                text = f"{n_held} tokens are held on the prefill server, which has {capacity}"
                yield Fault(event.ids[0], place, text)


def saved_then_freed_once(run: Run) -> Iterator[Fault]:
    """A KV cache is saved once if it will be needed, then freed on the prefill server, once."""
    for place, event, state in replay(run):
        for i in event.ids:
            if event.what == "save":
                if i in state.saved:
                    yield Fault(i, place, f"request {i} is saved a second time")
                elif i not in state.prefill_room:
                    yield Fault(i, place, f"request {i} is saved, but has no memory on this server")
            elif event.what == "free" and event.server == PREFILL:
                if i not in state.prefill_room:
                    yield Fault(i, place, f"request {i} is freed, but has no memory on this server")
                elif i in state.unsaved:
                    yield Fault(i, place, f"request {i} is freed before it was saved")
        if event.what == "end":
            for i in state.prefill_room:
                yield Fault(i, place, f"the prefill server never freed the memory of request {i}")


def similar_lengths(run: Run) -> Iterator[Fault]:
    """The prompts of a prefill batch differ by no more than the tolerance."""
    for place, event, _ in replay(run):
        if event.what == "prefill":
            lengths = {run.jobs[i].n_input: i for i in event.ids}
            if max(lengths) - min(lengths) > run.setup.tolerance:
                text = (
                    f"prompts of {min(lengths)} and {max(lengths)} tokens are in one batch, "
                    f"with a tolerance of {run.setup.tolerance}"
                )
                yield Fault(lengths[max(lengths)], place, text)


def prefill_batch_size(run: Run) -> Iterator[Fault]:
    """A prefill batch has no more requests than allowed."""
    return too_many(run, "prefill", run.setup.prefill_batch, "prefill batch")


def batches_are_filled(run: Run) -> Iterator[Fault]:
    """Who waits, is as long as one of the batch, and fits beside it, is taken along."""
    for place, event, state in replay(run):
        if event.what != "prefill" or len(event.ids) >= run.setup.prefill_batch:
            continue
        lengths = [run.jobs[i].n_input for i in event.ids]
        has_room = max(lengths) * (len(lengths) + 1) <= state.prefill_free
        for i, job in state.waiting.items():
            is_alike = job.n_input in lengths and i not in event.ids
            if is_alike and has_room and sum(lengths) + job.n_input <= state.store_free:
                text = (
                    f"a batch of {len(event.ids)} starts without request {i}, which waits, fits, "
                    f"and has {job.n_input} tokens like one of them"
                )
                yield Fault(i, place, text)
                break


def no_idle_prefill(run: Run) -> Iterator[Fault]:
    """No call of the prefill loop does nothing while the request that has waited longest fits."""
    for place, state in idle_calls(run, PREFILL):
        job = next(iter(state.waiting.values()), None)
        if job is not None and state.has_prefill_room(job):
            text = (
                f"the prefill loop does nothing, although request {job.id} with {job.n_input} "
                f"tokens waits, and {min(state.prefill_free, state.store_free)} fit"
            )
            yield Fault(job.id, place, text)


def sent_before_the_next(run: Run) -> Iterator[Fault]:
    """Whoever was prefilled is saved or finished before the next batch is computed."""
    for place, event, state in replay(run):
        if event.what == "prefill":
            for i in state.unsent.keys() - {*event.ids}:
                text = f"a batch starts, and request {i} from one before is not saved or finished"
                yield Fault(i, place, text)


def nobody_is_passed_over(run: Run) -> Iterator[Fault]:
    """Equal lengths go in order, and the oldest that fits is left out of few batches only."""
    n_left_out: Counter[int] = Counter()
    for place, event, state in replay(run):
        if event.what != "prefill":
            continue
        older = {}
        for i, job in state.waiting.items():
            if i in event.ids and job.n_input in older:
                text = (
                    f"request {i} goes before request {older[job.n_input]}, which is as long and "
                    "has waited longer"
                )
                yield Fault(older[job.n_input], place, text)
                break
            if i not in event.ids and job.n_input <= state.store_free:
                older.setdefault(job.n_input, i)
        oldest = state.oldest_to_prefill()
        if oldest is not None and oldest.id not in event.ids:
            n_left_out[oldest.id] += 1
            if n_left_out[oldest.id] == run.setup.patience + 1:
                text = (
                    f"request {oldest.id} has waited longest and fits, and {run.setup.patience + 1}"
                    f" batches have gone without it, where {run.setup.patience} may"
                )
                yield Fault(oldest.id, place, text)


def storage(run: Run) -> Iterator[Fault]:
    """What is stored between the servers never exceeds the room for it."""
    for place, event, state in replay(run):
        if event.what == "save" and run.setup.storage is not None:
            n_stored = sum((state.stored | {event.ids[0]: event.tokens}).values())
            if n_stored > run.setup.storage:
                text = f"{n_stored} tokens are stored, with room for {run.setup.storage}"
                yield Fault(event.ids[0], place, text)


PREFILL_RULES = {
    "prefilled once": prefilled_once,
    "first token counts": first_token_counts,
    "refused only what cannot run": refused_only_what_cannot_run,
    "prefill memory": prefill_memory,
    "saved then freed once": saved_then_freed_once,
    "similar lengths": similar_lengths,
    "prefill batch size": prefill_batch_size,
    "batches are filled": batches_are_filled,
    "no idle prefill": no_idle_prefill,
    "sent before the next": sent_before_the_next,
    "nobody is passed over": nobody_is_passed_over,
    "storage": storage,
}
