"""The two loops on a real model in two processes, with KV caches moved between them as files.

The parent starts two workers (`labkit.labs.batching.real.worker`), listens to both, and sends each
the news of the other. So it knows the progress, keeps the log when a worker dies, and never waits
for ever.
"""

from __future__ import annotations

import multiprocessing
import pickle
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryDirectory
from typing import Any

import torch

from labkit import zoo
from labkit.labs.batching.driver import Loop
from labkit.labs.batching.log import DECODE, PREFILL, Event, Run
from labkit.labs.batching.real.one_process import (
    PAUSE_S,
    Progress,
    Prompt,
    Tokens,
    finish,
    keep,
    make_jobs,
    tokenize,
)
from labkit.labs.batching.real.servers import Clock
from labkit.labs.batching.real.worker import READY, STOP, Failure, work
from labkit.labs.batching.workload import Setup

END_S = 2.0  # for a worker to end by itself
CAN_FORK = sys.platform == "linux"


class WorkerFailed(RuntimeError):
    """A worker raised an error, died or did not start. run: what had happened until then."""

    def __init__(self, sentence: str, run: Run) -> None:
        super().__init__(sentence)
        self.run = run


def serve_in_two_processes(
    prompts: Sequence[Prompt],
    setup: Setup,
    prefill_loop: Loop,
    decode_loop: Loop,
    *,
    max_new: int | Sequence[int | None] | None = None,
    arrival_s: Sequence[float] | None = None,
    model: str = "tiny-target",
    timeout_s: float = 120.0,
    start_method: str | None = None,
) -> tuple[Run, Tokens]:
    """As `serve_real`, with each loop in a process of its own that has one thread for its model.

    The clock starts when both are ready. timeout_s: when the run is ended, even within a step.
    start_method: of `multiprocessing`; by default "fork" on Linux, which takes the loops along as
    they are, and "spawn" elsewhere, for which they must be importable.
    Raises: ValueError for what cannot be asked, and for loops that cannot be spawned; WorkerFailed.
    """
    loaded = zoo.load(model, profile="cpu")
    fed = tokenize(loaded, prompts)
    run, tokens = Run(make_jobs(fed, max_new, arrival_s), setup), {}
    loops = {PREFILL: prefill_loop, DECODE: decode_loop}
    context = _context(loops, start_method)
    with TemporaryDirectory(prefix="kv-caches-") as folder, _Workers(run, tokens) as workers:
        try:
            workers.start(context, loops, (dict(run.jobs), setup, fed, model, folder))
            workers.follow(timeout_s)
        finally:
            finish(run, tokens, loaded)
    return run, tokens


def _context(loops: Mapping[str, Loop], start_method: str | None) -> Any:
    """How processes are started. One that is not forked has to import what it is given."""
    method = start_method or ("fork" if CAN_FORK else "spawn")
    for name, loop in loops.items() if method != "fork" else ():
        if not _is_importable(loop):
            raise ValueError(
                f"the loop of the {name} cannot go to a process of its own, which is not forked "
                "here and imports classes from files only; serve_real needs no other process"
            )
    return multiprocessing.get_context(method)


def _is_importable(loop: Loop) -> bool:
    if type(loop).__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
        return False  # a notebook's class
    try:
        pickle.dumps(loop)
    except Exception:  # of any kind, as objects may bring their own
        return False
    return True


class _Workers:
    """The two processes, as the parent sees them."""

    def __init__(self, run: Run, tokens: Tokens) -> None:
        self._run, self._tokens, self._progress = run, tokens, Progress(run)
        self._processes: dict[str, Any] = {}
        self._wires: dict[str, Connection] = {}
        self._n_ready, self._is_ending = 0, False

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.kill()
            process.join()
        for wire in self._wires.values():
            wire.close()

    def start(self, context: Any, loops: Mapping[str, Loop], about: tuple) -> None:
        """Start a process for each loop."""
        with _safe_to_fork():
            for name, loop in loops.items():
                self._wires[name], far_end = context.Pipe()
                args = (name, far_end, loop, *about)
                process = context.Process(target=work, args=args, daemon=True)
                process.start()
                self._processes[name] = process
                far_end.close()

    def follow(self, timeout_s: float) -> None:
        """Listen until the run is over, and send each worker the news of the other."""
        until_s = time.perf_counter() + timeout_s
        while self._n_ready < len(self._wires):
            if time.perf_counter() > until_s:
                raise WorkerFailed(f"the workers did not start in {timeout_s:g} s", self._run)
            self._listen()
        clock = Clock(start_s := time.perf_counter())
        self._tell(start_s)
        while not self._progress.is_over(clock.now_s, timeout_s):
            self._listen()
        self._is_ending = True
        self._tell(STOP)
        until_s = clock.now_s + END_S
        while self._wires and clock.now_s < until_s:
            self._listen()  # to the rest of the last steps

    def _listen(self) -> None:
        names = {wire: name for name, wire in self._wires.items()}
        for wire in wait(list(names), PAUSE_S):
            with suppress(EOFError, OSError):
                self._take(names[wire], wire.recv())
                continue
            self._ended(names[wire])

    def _take(self, name: str, message: Any) -> None:
        match message:
            case Event():
                self._run.log.append(message)
                if message.what == "save":
                    self._tell((*message.ids, self._tokens[message.ids[0]][0]), DECODE)
                elif message.what == "free stored":
                    self._tell(message.ids, PREFILL)
            case dict():
                keep(self._tokens, message)
            case Failure() if message.part:
                raise NotImplementedError(message.part)
            case Failure():
                raise WorkerFailed(f"the process of the {name} raised {message.reason}", self._run)
            case float():
                self._progress.expect(message)
            case str() if message == READY:
                self._n_ready += 1
            case str():
                self._run.stopped = message
                self._is_ending = True

    def _tell(self, message: Any, *names: str) -> None:
        for name in names or self._wires:
            with suppress(OSError, KeyError):  # of a dead worker one learns by listening
                self._wires[name].send(message)

    def _ended(self, name: str) -> None:
        self._wires.pop(name).close()
        if not self._is_ending:
            self._processes[name].join(END_S)
            status = self._processes[name].exitcode
            sentence = f"the process of the {name} ended by itself, with status {status}"
            raise WorkerFailed(sentence, self._run)


@contextmanager
def _safe_to_fork() -> Iterator[None]:
    """One thread for the model: a fork lacks the others of a pool, and would wait for them."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons see other threads
            yield
    finally:
        torch.set_num_threads(n_threads)
