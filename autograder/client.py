"""The trusted side of student code: start zygotes, spawn walled children, run cells, ask checks.

    with Zygote(settings) as zygote, zygote.spawn() as child:
        child.put_files({"data.csv": b"..."})
        result = child.run_cell("def double(x): return 2 * x", timeout_s=30)
        with child.forked(), child.deadline(20):
            child.student.double(21)

A student's failure is a `ChildError` (see channel) or a StudentError; our own is a `StartFailed`,
a `ZygoteDied`, or anything else, and costs nobody a point.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath

from autograder.channel import (
    ChildDied,
    ChildError,
    ForkDied,
    Overran,
    RemoteChannel,
    Tampered,
    TimedSocket,
    new_id,
)
from autograder.channel import OtherSpoke as _OtherSpoke
from autograder.outputs import clean_outputs
from autograder.wall import RUNGS, WallSettings
from labkit.student import Student
from labkit.wire import receive, send

__all__ = [
    "CellResult",
    "Child",
    "ChildDied",
    "ChildError",
    "ChildSettings",
    "Ending",
    "ForkDied",
    "Overran",
    "StartFailed",
    "Tampered",
    "Zygote",
    "ZygoteDied",
]

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",  # else torch.set_num_threads(4) and a product make every later fork hang
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "MALLOC_ARENA_MAX",  # an arena per thread would use up the address space
    "PYTHONHASHSEED",  # a set of strings has one order, today and tomorrow
)
_SIGNALS = {
    signal.SIGSEGV: "a crash in compiled code",
    signal.SIGABRT: "compiled code gave up",
    signal.SIGFPE: "a division by zero in compiled code",
    signal.SIGXCPU: "processor time over its limit",
}
