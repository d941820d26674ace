"""One worker process: the loop of one server, which talks to the parent over a pipe.

    worker -> parent   READY; then Events for the log, {id: new token}, and when something is to
                       come; as the last word why the run is over, or a Failure
    parent -> worker   when the clock started; (id, first token) of what was saved, to the decode
                       worker; (id,) of what was freed in the store, to the prefill worker; STOP

The KV caches take no part in this: they lie in files.
"""

import multiprocessing
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from labkit import zoo
from labkit.bridge.executor import describe_error
from labkit.labs.batching.driver import Loop
from labkit.labs.batching.log import PREFILL, Run
from labkit.labs.batching.real.one_process import PAUSE_S, acts
from labkit.labs.batching.real.servers import Clock, DecodeServer, PrefillServer, Store
from labkit.labs.batching.workload import Job, Setup

READY, STOP = "ready", "stop"


@dataclass(frozen=True, slots=True)
class Failure:
    """The error that ended a worker. part: the unwritten part, if that is the reason."""

    reason: str
    part: str


def work(
    name: str,
    wire: Connection,
    loop: Loop,
    jobs: dict[int, Job],
    setup: Setup,
    prompts: Sequence[Sequence[int]],
    model: str,
    folder: str,
) -> None:
    """The work of a worker, until the parent sends STOP or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the parent
    torch.set_num_threads(1)
    parent = multiprocessing.parent_process()
    try:
        run = Run(jobs, setup, log=SimpleNamespace(append=wire.send))
        store, loaded = Store(setup.storage, KVFiles(folder)), zoo.load(model, profile="cpu")
        shared = (run, loaded, store, Clock(0.0), wire.send)
        is_prefill = name == PREFILL
        server = PrefillServer(*shared, prompts=prompts) if is_prefill else DecodeServer(*shared)
        wire.send(READY)
        server.clock = Clock(wire.recv())
        while parent.is_alive():
            while wire.poll():
                if (message := wire.recv()) == STOP:
                    return
                _heed(message, store, server)
            if not acts(server, loop):
                wire.send(server.next_s())
                wire.poll(PAUSE_S)
            if run.stopped:
                wire.send(run.stopped)
                return
    except BaseException as error:  # whatever a loop raises, SystemExit too
        with suppress(OSError):
            wire.send(_failure(error))
    finally:
        if not parent.is_alive():
            shutil.rmtree(folder, ignore_errors=True)


def _failure(error: BaseException) -> Failure:
    error_fields = describe_error(error)
    part = error_fields["function"].partition(".")[0] if error_fields["unwritten"] else ""
    return Failure(" ".join(f"{type(error).__name__}: {error}".split()), part)


def _heed(message: tuple, store: Store, server: PrefillServer | DecodeServer) -> None:
    match message:
        case (request_id, token):
            store.first[request_id] = token
            store.put(server.run.jobs[request_id], server.clock.now_s)
        case (request_id,):
            store.remove(request_id)


class KVFiles:
    """KV caches by id, each in a file."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def __contains__(self, request_id: int) -> bool:
        return self._path(request_id).exists()

    def __getitem__(self, request_id: int) -> dict[str, Tensor]:
        return load_file(self._path(request_id))

    def __setitem__(self, request_id: int, cache: dict[str, Tensor]) -> None:
        save_file(cache, self._path(request_id))

    def pop(self, request_id: int, _: None) -> None:
        self._path(request_id).unlink(missing_ok=True)

    def _path(self, request_id: int) -> Path:
        return self._folder / f"{request_id}.safetensors"
