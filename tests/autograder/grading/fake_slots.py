"""Preloaded by Dask workers in tests: slots that do what a submission's text orders.

{"sleep": seconds}, with {"once": file} only while that file is not there; {"kill": true} then kills
the worker. Every start is noted in the file that FAKE_SLOTS_JOURNAL names.
"""

import json
import os
import signal
import time
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import autograder.grading.cluster.worker as worker
from autograder.record.results import Result

JOURNAL = Path(os.environ["FAKE_SLOTS_JOURNAL"])


class FakeSlot:
    """Stands in for a `ThreadSlot`."""

    def __init__(self, number, n_threads):
        pass

    def grade(self, order, submission):
        with JOURNAL.open("a") as file:
            file.write(f"{os.getpid()} {submission.student}\n")
        plan = json.loads(submission.content)
        once = plan.get("once")
        if once is None or not Path(once).exists():
            Path(once or os.devnull).touch()
            time.sleep(plan.get("sleep", 0))
        if plan.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        return {"outcome": json.dumps(outcome_of(order, submission))}

    def close(self):
        pass


def outcome_of(order, submission):
    """What every slot says of this submission, whichever worker it is on."""
    mark = int(sha256(submission.content + submission.student.encode()).hexdigest()[:4], 16)
    result = Result(submission.student, order.settings.lab, "graded", mark, 65536.0)
    return {"result": asdict(result), "notebook": []}


def dask_setup(_):
    worker.ThreadSlot = FakeSlot
