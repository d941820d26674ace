"""The loops on the tiny target: every request's tokens are those of generating it alone."""

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from labkit import zoo
from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.real.one_process import IDLE_S, generate_alone, serve_real, tokenize
from labkit.labs.batching.real.paged_model import BLOCK_SIZE, PagedModel
from labkit.labs.batching.real.two_processes import WorkerFailed, serve_in_two_processes
from labkit.labs.batching.rules import faults
from labkit.labs.batching.workload import Setup
from labkit.models.prompts import prompts

ROOM = Setup(prefill_batch=4, decode_batch=3)  # fewer slots than requests
needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
WAYS = [serve_real, pytest.param(serve_in_two_processes, marks=needs_fork)]
ONE_WAY = [serve_real, pytest.param(serve_in_two_processes, marks=[needs_fork, pytest.mark.slow])]
WAYS_TO_START = [
    pytest.param("fork", marks=needs_fork),
    pytest.param("spawn", marks=pytest.mark.slow if sys.platform == "linux" else ()),
]
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where temporary files go; nothing may be left there, and no process."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.glob("kv-caches-*")) == []
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize("serve", ONE_WAY)
def test_every_request_gets_the_tokens_that_it_gets_alone(serve, folder):
    asked = [*TEXTS[::2], before_the_end()]
    max_new = [1, 30, 2, 24, 0, 24, 24, 3, 24, 24, 24]
    run, tokens = serve(asked, ROOM, PrefillLoop(), DecodeLoop(), max_new=max_new)
    for i, (prompt, n) in enumerate(zip(asked, max_new, strict=True)):
        assert tokens.get(i, []) == (alone(prompt, n) if n else []), i
    assert tokens[10] == [0]
    assert any(0 < len(made) < n for made, n in zip(tokens.values(), max_new, strict=False))
    assert (run.stopped, faults(run)) == ("", {})
    assert max(len(event.ids) for event in run.events("prefill")) > 1
    assert max(len(event.ids) for event in run.events("decode")) == ROOM.decode_batch


@pytest.mark.parametrize("serve", WAYS)
def test_the_log_is_in_order_of_real_time(serve, folder):
    begin_s = time.perf_counter()
    run, _ = serve(TEXTS[:3], ROOM, PrefillLoop(), DecodeLoop(), max_new=4, arrival_s=[0, 0.2, 0.1])
    assert 0.2 <= run.makespan_s <= time.perf_counter() - begin_s
    begins = [event.begin_s for event in run.log]
    assert begins == sorted(begins) and all(event.end_s >= event.begin_s for event in run.log)
    came = {i: event.begin_s for event in run.events("ready", server="prefill server")
            for i in event.ids}  # fmt: skip
    assert 0.1 <= came[2] <= came[1] >= 0.2
    for server in ("prefill server", "decode server"):
        events = [event for event in run.log if event.server == server]
        assert all(a.end_s <= b.begin_s for a, b in pairwise(events))


@pytest.mark.parametrize("serve", ONE_WAY)
def test_little_room_holds_the_prefill_back_and_loses_nobody(serve, folder):
    (text,) = tokens_of(TEXTS[0])
    asked = [text[:n] for n in (15, 16, 17, 31, 33, 15, 16)]
    setup = Setup(40, 60, prefill_batch=2, storage=40)
    run, tokens = serve(asked, setup, PrefillLoop(), DecodeLoop(), max_new=18)
    assert [tokens[i] for i in range(7)] == [alone(prompt, 18) for prompt in asked]
    held = 0
    for event in run.events("save", "free stored"):
        held += event.tokens if event.what == "save" else -len(asked[event.ids[0]])
        assert 0 <= held <= 40
    assert held == 0


@pytest.mark.parametrize("serve", ONE_WAY)
def test_what_can_never_run_is_refused_and_without_requests_there_is_nothing_to_do(serve, folder):
    run, tokens = serve([[5] * 30, [5] * 8], Setup(max_length=16), PrefillLoop(), DecodeLoop())
    assert [event.ids for event in run.events("refuse")] == [(0,)]
    assert tokens == {1: alone((5,) * 8, 8)}
    run, tokens = serve([], Setup(), PrefillLoop(), DecodeLoop(), max_new=3)
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


@pytest.mark.parametrize("serve", WAYS)
def test_a_loop_that_does_nothing_ends_the_run(serve, folder):
    run, tokens = serve(["a"], ROOM, PrefillLoop(), Does(lambda *_: None), max_new=5)
    assert run.stopped == "nothing more is done, and request 0 is not finished"
    assert tokens == {0: alone("a", 5)[:1]}


def free_for_ever(server, i):
    while True:
        server.free_kv(i)


def raise_it(server, i):
    raise KeyError("my\n table")


@needs_fork
@pytest.mark.parametrize(
    ("deed", "sentence"),
    [
        (raise_it, r"the process of the decode server raised KeyError: 'my\\n table'"),
        (lambda *_: sys.exit("bye"), "the process of the decode server raised SystemExit: bye"),
        (lambda *_: os._exit(3), "the process of the decode server ended by itself, with status 3"),
        (lambda *_: os.kill(os.getpid(), signal.SIGKILL), "ended by itself, with status -9"),
    ],
)
def test_a_worker_that_fails_gives_one_sentence_and_the_log_so_far(deed, sentence, folder):
    with pytest.raises(WorkerFailed, match=sentence) as failed:
        serve_in_two_processes(["a", "b"], ROOM, PrefillLoop(), Does(deed), max_new=5)
    assert [event.ids for event in failed.value.run.events("prefill")] == [(0, 1)]


@pytest.mark.parametrize("serve", ONE_WAY)
def test_a_step_that_acts_for_ever_ends_the_run(serve, folder):
    run, _ = serve(["a"], ROOM, PrefillLoop(), Does(free_for_ever), max_new=5)
    assert run.stopped == "far more calls than these requests can need"


@needs_fork
def test_a_step_that_never_ends_is_ended_with_its_process(folder):
    sleeper = Does(lambda *_: time.sleep(1000))
    begin_s = time.perf_counter()
    run, _ = serve_in_two_processes(["a"], ROOM, PrefillLoop(), sleeper, max_new=5, timeout_s=4)
    assert run.stopped == "4 seconds are over, and request 0 is not finished"
    assert time.perf_counter() - begin_s < 60


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


@pytest.mark.parametrize("serve", ONE_WAY)
def test_a_loop_may_wait_for_its_alarm(serve, folder):
    run, tokens = serve(["a"], ROOM, PrefillLoop(), Late(), max_new=5)
    assert (run.stopped, tokens) == ("", {0: alone("a", 5)})
    assert run.makespan_s > 2.5 * IDLE_S


SCRIPT = """
import torch
from labkit.batching import DecodeLoop, PrefillLoop
from labkit.labs.batching.real.one_process import generate_alone
from labkit.labs.batching.real.two_processes import serve_in_two_processes
from labkit.labs.batching.workload import Setup

class Mine(DecodeLoop):
    def step(self, server):
        {deed}
        super().step(server)

torch.set_num_threads(2)
want = generate_alone("a", 6)  # the parent has a pool of threads now
torch.randn(600, 600) @ torch.randn(600, 600)
{try_spawn}
run, tokens = serve_in_two_processes(["a"], Setup(), PrefillLoop(), Mine(), max_new=6)
print(tokens == {{0: want}}, torch.get_num_threads())
"""
SPAWN = """
try:
    serve_in_two_processes(["a"], Setup(), PrefillLoop(), Mine(), start_method="spawn")
except ValueError as error:
    print(error)
"""


@needs_fork
def test_loops_of_a_notebook_run_beside_its_threads_but_cannot_be_spawned():
    script = SCRIPT.format(deed="pass", try_spawn=SPAWN)
    command = [sys.executable, "-c", script]  # like a notebook, __main__ has no file
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    refused, served = done.stdout.splitlines()
    assert refused.startswith("the loop of the decode server cannot go to a process of its own")
    assert (served, done.stderr) == ("True 2", "")


@needs_fork
def test_workers_whose_parent_is_killed_end_and_leave_no_files(tmp_path):
    deed = "import os; print(os.getpid(), flush=True); server.arrivals(); return"
    script = SCRIPT.format(deed=deed, try_spawn="")
    settings = {"env": os.environ | {"TMPDIR": str(tmp_path)}, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], **settings) as parent:
        worker = int(parent.stdout.readline())
        assert any(tmp_path.glob("kv-caches-*"))
        parent.kill()
    until_s = time.perf_counter() + 60
    while any(tmp_path.glob("kv-caches-*")) or Path(f"/proc/{worker}").exists():
        assert time.perf_counter() < until_s
        time.sleep(0.05)


@pytest.mark.parametrize("start_method", WAYS_TO_START)
def test_workers_do_the_same_however_they_are_started(folder, start_method):
    settings = {"max_new": 6, "start_method": start_method}
    run, tokens = serve_in_two_processes(TEXTS[:3], ROOM, PrefillLoop(), DecodeLoop(), **settings)
    assert [tokens[i] for i in range(3)] == [alone(text, 6) for text in TEXTS[:3]]
    assert faults(run) == {}
