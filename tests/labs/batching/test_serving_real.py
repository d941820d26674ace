"""The loops on the tiny target: every request's tokens are those of generating it alone."""

import time
from functools import cache
from itertools import pairwise

import pytest
import torch

from labkit import zoo
from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.real.one_process import IDLE_S, generate_alone, serve_real, tokenize
from labkit.labs.batching.real.paged_model import BLOCK_SIZE, PagedModel
from labkit.labs.batching.rules import faults
from labkit.labs.batching.workload import Setup
from labkit.models.prompts import prompts

ROOM = Setup(prefill_batch=4, decode_batch=3)  # fewer slots than requests
TEXTS = tuple(prompt.text for prompt in prompts())


@cache
def target():
    return zoo.load("tiny-target", profile="cpu")


@cache
def alone(prompt, n):
    return generate_alone(prompt, n)


def tokens_of(*texts):
    return [tuple(each) for each in tokenize(target(), texts)]


def before_the_end():
    """A prompt that the model ends at once: another with all of its answer but the end."""
    (prompt,) = tokens_of("Q: " + TEXTS[12])
    answer = generate_alone(prompt, 60)
    assert answer[-1] == 0
    return prompt + tuple(answer[:-1])


def test_every_request_gets_the_tokens_that_it_gets_alone():
    asked = [*TEXTS[::2], before_the_end()]
    max_new = [1, 30, 2, 24, 0, 24, 24, 3, 24, 24, 24]
    run, tokens = serve_real(asked, ROOM, PrefillLoop(), DecodeLoop(), max_new=max_new)
    for i, (prompt, n) in enumerate(zip(asked, max_new, strict=True)):
        assert tokens.get(i, []) == (alone(prompt, n) if n else []), i
    assert tokens[10] == [0]
    assert any(0 < len(made) < n for made, n in zip(tokens.values(), max_new, strict=False))
    assert (run.stopped, faults(run)) == ("", {})
    assert max(len(event.ids) for event in run.events("prefill")) > 1
    assert max(len(event.ids) for event in run.events("decode")) == ROOM.decode_batch


def test_the_log_is_in_order_of_real_time():
    begin_s = time.perf_counter()
    run, _ = serve_real(
        TEXTS[:3], ROOM, PrefillLoop(), DecodeLoop(), max_new=4, arrival_s=[0, 0.2, 0.1]
    )
    assert 0.2 <= run.makespan_s <= time.perf_counter() - begin_s
    begins = [event.begin_s for event in run.log]
    assert begins == sorted(begins) and all(event.end_s >= event.begin_s for event in run.log)
    came = {i: event.begin_s for event in run.events("ready", server="prefill server")
            for i in event.ids}  # fmt: skip
    assert 0.1 <= came[2] <= came[1] >= 0.2
    for server in ("prefill server", "decode server"):
        events = [event for event in run.log if event.server == server]
        assert all(a.end_s <= b.begin_s for a, b in pairwise(events))


def test_little_room_holds_the_prefill_back_and_loses_nobody():
    (text,) = tokens_of(TEXTS[0])
    asked = [text[:n] for n in (15, 16, 17, 31, 33, 15, 16)]
    setup = Setup(40, 60, prefill_batch=2, storage=40)
    run, tokens = serve_real(asked, setup, PrefillLoop(), DecodeLoop(), max_new=18)
    assert [tokens[i] for i in range(7)] == [alone(prompt, 18) for prompt in asked]
    held = 0
    for event in run.events("save", "free stored"):
        held += event.tokens if event.what == "save" else -len(asked[event.ids[0]])
        assert 0 <= held <= 40
    assert held == 0


def test_what_can_never_run_is_refused_and_without_requests_there_is_nothing_to_do():
    run, tokens = serve_real([[5] * 30, [5] * 8], Setup(max_length=16), PrefillLoop(), DecodeLoop())
    assert [event.ids for event in run.events("refuse")] == [(0,)]
    assert tokens == {1: alone((5,) * 8, 8)}
    run, tokens = serve_real([], Setup(), PrefillLoop(), DecodeLoop(), max_new=3)
    assert (list(run.events("prefill", "decode")), run.stopped, tokens) == ([], "", {})


def test_where_the_caches_lie_does_not_matter():
    def made(n_blocks, block_size):
        model = PagedModel(target().model, n_blocks, block_size)
        steps = [model.forward([0, 1], [(5, 9, 11), tuple(range(20, 57))])]
        for _ in range(20):
            steps.append(model.forward([0, 1], [[token] for token in steps[-1]]))
        return steps

    assert made(n_blocks=40, block_size=4) == made(n_blocks=2, block_size=64)  # in one piece each


def test_a_ragged_batch_in_pages_continues_like_each_alone_and_gives_all_pages_back():
    lengths = [1, BLOCK_SIZE - 1, BLOCK_SIZE, BLOCK_SIZE + 1, 3 * BLOCK_SIZE]
    rng = torch.Generator().manual_seed(0)
    fed = [tuple(torch.randint(1, 4096, (n,), generator=rng).tolist()) for n in lengths]
    paged, made = PagedModel(target().model, n_blocks=20), [[] for _ in fed]
    for _ in range(BLOCK_SIZE + 2):
        ids = range(5) if made[0] else (4, 2, 0, 3, 1)
        new = paged.forward(ids, [made[i][-1:] or fed[i] for i in ids])
        for i, token in zip(ids, new, strict=True):
            made[i].append(token)
    for prompt, tokens in zip(fed, made, strict=True):
        want = alone(prompt, BLOCK_SIZE + 2)
        assert tokens[: len(want)] == want
    copy = paged.read(3)
    paged.free(3)
    paged.write(3, copy)
    assert torch.equal(paged.read(3)["keys"], copy["keys"])
    for i in (*range(5), 3):
        paged.free(i)
    with pytest.raises(MemoryError, match="21 blocks are needed, 20 are free"):
        paged.forward([0], [[7] * (20 * BLOCK_SIZE + 1)])


class Does(DecodeLoop):
    """A decode loop that does something else as soon as it hears of a request."""

    def __init__(self, deed):
        super().__init__()
        self.deed = deed

    def step(self, server):
        if arrived := server.arrivals():
            self.deed(server, arrived[0]["id"])


def load_twice(server, i):
    server.load_kv(i, 50)
    server.load_kv(i, 50)


def decode_twice(server, i):
    server.load_kv(i, 50)
    server.decode_step([i, i])


def load_the_freed(server, i):
    server.free_stored(i)
    server.load_kv(i, 50)


@pytest.mark.parametrize(
    ("deed", "sentence"),
    [
        (lambda server, i: server.decode_step([i]), "decode server has no KV cache of request 0"),
        (load_twice, "decode server has already a KV cache of request 0"),
        (load_the_freed, "no stored KV cache of request 0"),
        (decode_twice, r"a request is twice in the batch \[0, 0\]"),
        (lambda server, i: server.load_kv(i, 1.5), "wanted a number of tokens to reserve, got 1.5"),
    ],
)
def test_what_cannot_be_computed_raises(deed, sentence):
    with pytest.raises(ValueError, match=sentence):
        serve_real(["a"], ROOM, PrefillLoop(), Does(deed), max_new=5)


def test_a_loop_that_does_nothing_ends_the_run():
    run, tokens = serve_real(["a"], ROOM, PrefillLoop(), Does(lambda *_: None), max_new=5)
    assert run.stopped == "nothing more is done, and request 0 is not finished"
    assert tokens == {0: alone("a", 5)[:1]}


def free_for_ever(server, i):
    while True:
        server.free_kv(i)


def test_a_step_that_acts_for_ever_ends_the_run():
    run, _ = serve_real(["a"], ROOM, PrefillLoop(), Does(free_for_ever), max_new=5)
    assert run.stopped == "far more calls than these requests can need"


class Late(DecodeLoop):
    """A decode loop that begins long after anything else is done."""

    def __init__(self):
        super().__init__()
        self.begin_s = None

    def step(self, server):
        if self.begin_s is None:
            self.begin_s = server.now() + 2.5 * IDLE_S
        if server.now() < self.begin_s:
            server.wake_at(self.begin_s)
        else:
            super().step(server)


def test_a_loop_may_wait_for_its_alarm():
    run, tokens = serve_real(["a"], ROOM, PrefillLoop(), Late(), max_new=5)
    assert (run.stopped, tokens) == ("", {0: alone("a", 5)})
    assert run.makespan_s > 2.5 * IDLE_S
