"""The trusted side of student code: start zygotes, spawn walled children, run cells, ask checks.

    with ZygoteHandle(settings) as zygote, zygote.spawn() as child:
        child.put_files({"data.csv": b"..."})
        result = child.run_cell("def double(x): return 2 * x", timeout_s=30)
        with child.forked(), child.deadline(20):
            child.student.double(21)

If a student's code ends its own process, that is a `StudentEnded` (see ends). A `ZygoteError` is
our fault, and costs no student a point (see control).
"""

from __future__ import annotations

from autograder.judging.control import ZygoteProcess
from autograder.judging.start.keepers import Keeper
from autograder.judging.wall import ChildSettings
from autograder.judging.walled import Child


class ZygoteHandle:
    """Makes children that have everything imported already.

    It ends with this process, or with the thread that has made it. Enter it, or `wait`, before the
    first child.
    """

    def __init__(self, settings: ChildSettings, keeper: Keeper | None = None) -> None:
        """keeper: what becomes this zygote, else a new process does."""
        self._settings = settings
        self._process = ZygoteProcess(settings, keeper)
        self._children: list[Child] = []

    def wait(self) -> None:
        """Until everything is imported. Raises: ZygoteError if that fails."""
        self._process.wait()

    def spawn(self) -> Child:
        """A fresh child, walled in and ready."""
        self._children = [child for child in self._children if child.alive]
        self._children.append(Child(self._process, self._settings))
        return self._children[-1]

    def close(self) -> None:
        """End the zygote and all its children."""
        for child in self._children:
            child.hang_up()
        self._process.close()

    def __enter__(self) -> ZygoteHandle:
        self.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
