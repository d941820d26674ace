"""The loops of `labkit.batching` on a real model, taking turns in one process."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

import torch

from labkit import zoo
from labkit.labs.batching.driver import IDLE_ROUNDS, Loop
from labkit.labs.batching.log import DECODE, PREFILL, Run
from labkit.labs.batching.real.servers import Clock, DecodeServer, PrefillServer, Store
from labkit.labs.batching.servers import Server
from labkit.labs.batching.workload import Job, Setup

PAUSE_S = 0.005  # before a loop that had nothing to do is called again
IDLE_S = 1.0  # without anything done or to come, before a run is given up

Prompt = str | Sequence[int]
Tokens = dict[int, list[int]]


def serve_real(
    prompts: Sequence[Prompt],
    setup: Setup,
    prefill_loop: Loop,
    decode_loop: Loop,
    *,
    max_new: int | Sequence[int | None] | None = None,
    arrival_s: Sequence[float] | None = None,
    model: str = "tiny-target",
    timeout_s: float = 120.0,
) -> tuple[Run, Tokens]:
    """Serve prompts, texts or tokens, and return the log and all new tokens of each request.

    A prompt's id is its place. max_new: for all, or one for each. arrival_s: all at once if not
    given. timeout_s: after that no further step begins. Tokens include the end of text; in the run,
    a job's stops_after says where that came.
    Raises: ValueError for what cannot be asked or computed; MemoryError if a loop takes far more
    room than there is; any exception of a loop.
    """
    loaded = zoo.load(model, profile="cpu")
    fed = tokenize(loaded, prompts)
    run, tokens = Run(make_jobs(fed, max_new, arrival_s), setup), {}
    store, clock, progress = Store(setup.storage), Clock(time.perf_counter()), Progress(run)
    shared = (run, loaded, store, clock, partial(keep, tokens))
    prefill, decode = PrefillServer(*shared, prompts=fed), DecodeServer(*shared)
    while not progress.is_over(clock.now_s, timeout_s):
        n_acted = acts(prefill, prefill_loop) + acts(decode, decode_loop)
        if not n_acted:
            progress.expect(min(prefill.next_s(), decode.next_s()))
            time.sleep(PAUSE_S)
    finish(run, tokens, loaded)
    return run, tokens


@torch.inference_mode()
def generate_alone(prompt: Prompt, max_new: int, model: str = "tiny-target") -> list[int]:
    """The new tokens of one prompt, as the model's own `generate` makes them, greedily."""
    loaded = zoo.load(model, profile="cpu")
    fed = torch.tensor(tokenize(loaded, [prompt]))
    seen = torch.ones_like(fed)
    out = loaded.model.generate(fed, attention_mask=seen, max_new_tokens=max_new, do_sample=False)
    return out[0, fed.shape[1] :].tolist()


def tokenize(loaded: zoo.LoadedModel, prompts: Sequence[Prompt]) -> list[list[int]]:
    """Texts as tokens; tokens as they are."""
    return [
        loaded.tokenizer(each)["input_ids"] if isinstance(each, str) else list(each)
        for each in prompts
    ]


def make_jobs(
    fed: Sequence[Sequence[int]],
    max_new: int | Sequence[int | None] | None,
    arrival_s: Sequence[float] | None,
) -> dict[int, Job]:
    """The jobs; it is not known yet where the model will end its texts."""
    wanted = max_new if isinstance(max_new, Sequence) else [max_new] * len(fed)
    asked = zip(fed, wanted, arrival_s or [0.0] * len(fed), strict=True)
    return {
        i: Job(i, len(tokens), most, arrival_s=when_s)
        for i, (tokens, most, when_s) in enumerate(asked)
    }


def keep(tokens: Tokens, made: dict[int, int]) -> None:
    """Put each request's new token at the end of its tokens."""
    for i, token in made.items():
        tokens.setdefault(i, []).append(token)


def acts(server: Server, loop: Loop) -> bool:
    """Call a loop once; whether it did anything. An error by which a server ends a run is noted."""
    n_before = server.n_actions
    try:
        server.begin_step()
        loop.step(server)
    except Exception as error:
        server.note_error(error)
        if not server.run.stopped:
            raise
    return server.n_actions > n_before


def finish(run: Run, tokens: Tokens, loaded: zoo.LoadedModel) -> None:
    """Put the log in order of time, and note where the model ended each text.

    Calls of the loops leave the log: as news takes time here, an idle one is no sign of a mistake.
    """
    eos = loaded.model.generation_config.eos_token_id
    for i, made in tokens.items():
        if eos in made:
            run.jobs[i] = replace(run.jobs[i], stops_after=made.index(eos) + 1)
    actions = [event for event in run.log if event.what != "step"]
    run.log[:] = sorted(actions, key=lambda event: event.begin_s)


class Progress:
    """Whether a run goes on: until all is served, nothing more is done, or the time is up."""

    def __init__(self, run: Run) -> None:
        self._run, self._n_read, self._open = run, 0, set(run.jobs)
        self._n_idle = {PREFILL: 0, DECODE: 0}  # calls of each loop since it last did something
        self._last_s = 0.0  # when something was done or is to come

    def expect(self, when_s: float) -> None:
        """Something is to come at that time, unless it is infinite."""
        if when_s < inf:
            self._last_s = max(self._last_s, when_s)

    def is_over(self, now_s: float, timeout_s: float) -> bool:
        """Reads new events in the log. If the run is given up, `run.stopped` says why."""
        for event in self._run.log[self._n_read :]:
            if event.what == "step":
                self._n_idle[event.server] += 1
            else:
                self._n_idle[event.server] = 0
                self.expect(event.end_s)
            if event.what in ("finish", "refuse"):
                self._open.difference_update(event.ids)
        self._n_read = len(self._run.log)
        is_idle = min(self._n_idle.values()) >= IDLE_ROUNDS and now_s - self._last_s > IDLE_S
        if self._open and (is_idle or now_s > timeout_s):
            why = "nothing more is done" if is_idle else f"{timeout_s:g} seconds are over"
            self._run.stopped = f"{why}, and request {min(self._open)} is not finished"
        return not self._open or bool(self._run.stopped)
