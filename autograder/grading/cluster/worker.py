"""The worker's end of a grading on a cluster: slots, started by exec, for work that comes as JSON.

A Dask worker never runs student code and never unpickles anything of a student's: a submission
reaches it as one string of bytes, and goes on to a slot as a line of text.
"""

import json
import platform
import socket
import threading
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from typing import Any

from distributed import WorkerPlugin, get_worker

from autograder.grading.scratch import scratch_folder
from autograder.intake.collect import Submission
from autograder.judging.jobs import SlotSettings, pack_submission, unpack_submission
from autograder.judging.wall import why_not


@dataclass(frozen=True)
class GradingOrder:
    """How to grade: the settings of slots, and what the client's installation is made of.

    The files that the settings name are the client's; each worker writes its own.
    """

    settings: SlotSettings
    installation: tuple[tuple[str, str], ...]

    def pack(self, submission: Submission) -> bytes:
        """One unit of work, as a worker gets it."""
        work = {"order": asdict(self), "submission": pack_submission(submission)}
        return json.dumps(work).encode()


def installation() -> tuple[tuple[str, str], ...]:
    """What marks and messages depend on, by name; it must be the same on every machine."""
    from autograder.grading.fingerprint import installation_digest  # takes seconds

    packages = [(name, version(name)) for name in ("labkit", "numpy", "torch", "transformers")]
    digest, python = installation_digest(), platform.python_version()
    return (("marking files", digest), ("python", python), *packages)


def grade_packed(work: bytes) -> bytes:
    """Grade one unit of work on a worker: {"outcome": ...}, or {"refusal": why not on this one}."""
    fields = json.loads(work)
    settings = SlotSettings(**fields["order"]["settings"])
    order = GradingOrder(
        settings, tuple((name, text) for name, text in fields["order"]["installation"])
    )
    slots = get_worker().plugins[SlotPlugin.name]
    reply = slots.grade(order, unpack_submission(fields["submission"]))
    return json.dumps(reply).encode()


class SlotPlugin(WorkerPlugin):
    """Owns the slots of a worker, one for each of its threads."""

    name = "autograder-slots"
    idempotent = True  # several gradings use the same ones

    def setup(self, worker: Any) -> None:
        """Called by Dask when the worker starts."""
        self._n_threads = worker.state.nthreads
        self._slots: dict[int, ThreadSlot] = {}
        self._lock = threading.Lock()

    def teardown(self, worker: Any) -> None:
        """Called by Dask when the worker ends in peace; slots of a killed worker end with it."""
        for slot in self._slots.values():
            slot.close()

    def grade(self, order: GradingOrder, submission: Submission) -> dict[str, str]:
        """Grade with the slot of the calling thread."""
        with self._lock:
            known = self._slots.get(threading.get_ident())
            slot = known or ThreadSlot(len(self._slots), self._n_threads)
            self._slots[threading.get_ident()] = slot
        return slot.grade(order, submission)


class ThreadSlot:
    """The slot of one thread, as the last order wants it."""

    def __init__(self, number: int, n_threads: int) -> None:
        self._number, self._n_threads = number, n_threads
        self._order: GradingOrder | None = None
        self._stack = ExitStack()

    def grade(self, order: GradingOrder, submission: Submission) -> dict[str, str]:
        """The outcome as JSON, or why this worker cannot say."""
        if order != self._order:
            self.close()
            if refusal := _refusal(order):
                return {"refusal": refusal}
            self._open(order)
        return {"outcome": self._slot.grade(submission).to_json()}

    def close(self) -> None:
        """End the slot and remove its files."""
        self._order = None
        self._stack.close()

    def _open(self, order: GradingOrder) -> None:
        from autograder.builder.source import find_lab  # all this takes seconds
        from autograder.grading.pool import SteadySlot, processors, uid_of, usable_processors
        from autograder.grading.slot_files import write_slot_files

        folder = self._stack.enter_context(scratch_folder())
        files = write_slot_files(find_lab(order.settings.lab), folder)
        own = len(usable_processors()) == self._n_threads  # else other workers share them
        cpu = processors(self._n_threads)[self._number % self._n_threads] if own else None
        settings = replace(order.settings, uid=uid_of(self._number), cpu=cpu, **files)
        self._slot = SteadySlot(settings)
        self._stack.callback(self._slot.close)
        self._order = order


def _refusal(order: GradingOrder) -> str:
    """Why marks from here would not be those of the client's own machine; "" if they would."""
    host = socket.gethostname()
    for (name, wanted), (_, here) in zip(order.installation, installation(), strict=True):
        if wanted != here:
            return (
                f"the worker on {host} has another version ({name}: {here[:12]} there, "
                f"{wanted[:12]} here): install the same on both and start the worker again"
            )
    rung = order.settings.rung
    if rung != "none" and (reason := why_not(rung)):
        return f"the worker on {host} cannot wall student code in ({rung}: {reason})"
    return ""
