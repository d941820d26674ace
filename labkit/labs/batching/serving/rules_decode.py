"""What must hold on the decode server. Each rule reads one thing off the log."""

from collections import Counter
from collections.abc import Iterator

from labkit.labs.batching.serving.log import DECODE, Run
from labkit.labs.batching.serving.replay import Fault, State, idle_calls, replay, too_many

WORK = ("prefill", "save", "load", "decode")


def finished_once(run: Run) -> Iterator[Fault]:
    """The decode loop finishes those that it has loaded, each once."""
    for place, event, state in replay(run):
        if event.what == "finish" and event.server == DECODE:
            i = event.ids[0]
            if i in state.finished:
                yield Fault(i, place, f"request {i} is finished a second time")
            elif i not in state.loaded:
                yield Fault(i, place, f"request {i} is finished without having been loaded")


def ends_at_its_limit(run: Run) -> Iterator[Fault]:
    """Output ends with the end-of-text token or at the limit, the prefill's token counted."""
    for place, event, state in replay(run):
        if event.server != DECODE or event.what not in ("decode", "finish"):
            continue
        for i in event.ids:
            n_made, n_output = state.n_made(i), state.n_output(i)
            if i not in state.running or n_output < 1:
                continue
            if event.what == "finish" and n_made < n_output:
                text = f"request {i} is finished with {n_made} tokens, but has to get {n_output}"
                yield Fault(i, place, text)
            elif event.what == "decode" and n_made == n_output:
                text = f"request {i} has all its {n_output} tokens, and gets one more"
                yield Fault(i, place, text)


def decode_memory(run: Run) -> Iterator[Fault]:
    """What is reserved on the decode server never exceeds its room."""
    for place, event, state in replay(run):
        if event.what == "load":
            n_held = sum((state.reserved | {event.ids[0]: event.tokens}).values())
            if n_held > run.setup.decode_capacity:
                text = (
                    f"{n_held} tokens are reserved on the decode server, which has "
                    f"{run.setup.decode_capacity}"
                )
                yield Fault(event.ids[0], place, text)


def reservation_covers_growth(run: Run) -> Iterator[Fault]:
    """No KV cache outgrows what was reserved for it when it was loaded."""
    outgrown: set[int] = set()
    for place, event, state in replay(run):
        for i in event.ids if event.what == "decode" else ():
            n_cached = run.jobs[i].n_input + state.n_made(i)
            if i not in outgrown and n_cached > state.reserved.get(i, n_cached):
                outgrown.add(i)
                text = (
                    f"the KV cache of request {i} has {n_cached} tokens, and "
                    f"{state.reserved[i]} were reserved"
                )
                yield Fault(i, place, text)


def moved_once_freed_once(run: Run) -> Iterator[Fault]:
    """Loaded once and not before it is there; freed in the store, then here, once; never used then.

    Nothing is left at the end of those that were loaded and finished.
    """
    for place, event, state in replay(run):
        for i in event.ids:
            if text := _wrong_move(event.what, event.server, i, state):
                yield Fault(i, place, f"request {i} {text}")
        if event.what == "end":
            for i in state.reserved:
                if i in state.finished:
                    text = f"the memory of request {i} was never freed on the decode server"
                    yield Fault(i, place, text)
            for i in state.stored:
                if i in state.loaded:
                    text = f"the stored KV cache of request {i} was never freed"
                    yield Fault(i, place, text)


def _wrong_move(what: str, server: str, i: int, state: State) -> str:
    """What is wrong with an event for request i; empty if nothing is."""
    if server != DECODE:
        return ""
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
    return ""


def decode_batch_size(run: Run) -> Iterator[Fault]:
    """A decode step has no more requests than allowed."""
    return too_many(run, "decode", run.setup.decode_batch, "decode step")


def everybody_runs(run: Run) -> Iterator[Fault]:
    """Each decode step has every request that is loaded and not done, once, and nobody else."""
    for place, event, state in replay(run):
        if event.what != "decode":
            continue
        for i, n_times in Counter(event.ids).items():
            if n_times > 1:
                yield Fault(i, place, f"request {i} is {n_times} times in one decode step")
            elif i not in state.loaded:
                yield Fault(i, place, f"request {i} is in a decode step without having been loaded")
        for i in state.running:
            if i not in event.ids and state.n_made(i) < state.n_output(i):
                text = f"request {i} is loaded and not done, and left out of a decode step"
                yield Fault(i, place, text)


def done_leave_at_once(run: Run) -> Iterator[Fault]:
    """At a decode step, who is done is out of the batch, finished, and holds no room."""
    for place, event, state in replay(run):
        if event.what != "decode":
            continue
        for i in dict.fromkeys((*event.ids, *state.reserved)):
            if i in state.finished:
                place_held = "in the batch" if i in event.ids else "in memory"
                yield Fault(i, place, f"request {i} is finished, and still {place_held}")
            elif i in set(state.running) - set(event.ids) and state.n_made(i) >= state.n_output(i):
                yield Fault(i, place, f"request {i} has all its tokens, and is still in memory")


def who_fits_joins(run: Run) -> Iterator[Fault]:
    """No decode step starts without the oldest request that waits for it, if that one fits."""
    for place, event, state in replay(run):
        if event.what == "decode":
            job = state.oldest_can_join(len({*event.ids, *state.running}))
            if job is not None:
                text = (
                    f"a decode step of {len(event.ids)} starts without request {job.id}, which "
                    f"needs {job.size(run.setup.max_length)} tokens of {state.decode_free} free"
                )
                yield Fault(job.id, place, text)


def one_step_in_a_call(run: Run) -> Iterator[Fault]:
    """No call of the decode loop makes two steps: it would not see who comes between them.

    The log of a real model has no calls, and so says nothing of this.
    """
    n_steps = None
    for place, event in enumerate(run.log):
        if event.server == DECODE and event.what == "step":
            n_steps = 0
        elif event.what == "decode" and n_steps is not None:
            n_steps += 1
            if n_steps == 2:
                yield Fault(event.ids[0], place, "a second decode step is made in one call")


def no_idle_decode(run: Run) -> Iterator[Fault]:
    """No call of the decode loop does nothing while somebody is loaded, or fits."""
    for place, state in idle_calls(run, DECODE):
        if state.running:
            i = next(iter(state.running))
            text = f"the decode loop does nothing, although request {i} is loaded and not finished"
            yield Fault(i, place, text)
        elif (job := state.oldest_can_join(0)) is not None:
            text = (
                f"the decode loop does nothing, although request {job.id} can be loaded and needs "
                f"{job.size(run.setup.max_length)} tokens of {state.decode_free} free"
            )
            yield Fault(job.id, place, text)


def all_is_served(run: Run) -> Iterator[Fault]:
    """The run ends because every request is finished or refused, and nothing but frees follows."""
    for place, event, state in replay(run):
        if event.what == "end" and run.stopped:
            still_open = run.jobs.keys() - state.finished.keys() - state.refused.keys()
            yield Fault(min(still_open, default=None), place, run.stopped)
        elif event.what in WORK and len(state.finished | state.refused) == len(run.jobs):
            text = f"there is a {event.what} after all requests are finished or refused"
            yield Fault(event.ids[0], place, text)


DECODE_RULES = {
    "finished once": finished_once,
    "ends at its limit": ends_at_its_limit,
    "decode memory": decode_memory,
    "reservation covers growth": reservation_covers_growth,
    "moved once, freed once": moved_once_freed_once,
    "decode batch size": decode_batch_size,
    "everybody runs": everybody_runs,
    "done leave at once": done_leave_at_once,
    "who fits joins": who_fits_joins,
    "one step in a call": one_step_in_a_call,
    "no idle decode": no_idle_decode,
    "all is served": all_is_served,
}
