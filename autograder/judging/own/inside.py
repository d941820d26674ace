"""A notebook run cell by cell in a walled process, as nbgrader runs it."""

from collections.abc import Callable
from typing import TypeVar

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.judging.client import Zygote
from autograder.judging.ends import StudentEnded
from autograder.judging.jobs import Limits
from autograder.judging.own.mirrors import AskedStudent
from autograder.judging.walled import Child

T = TypeVar("T")
MAX_STARTS = 8
NOTEBOOK_S = 600.0
SAY_SO = '__import__("os").environ["NBGRADER_EXECUTION"] = "autograde"'  # nbgrader sets it too


class OwnRun:
    """One notebook at work.

    A cell that ends its process is left out, and those before it run again in a fresh one.
    problem: why cells did not run at all, "" if they did. Raises: ZygoteError if there is no child.
    """

    def __init__(self, zygote: Zygote, files: dict[str, bytes], limits: Limits) -> None:
        self._zygote, self._files, self._limits = zygote, files, limits
        self._sources = [SAY_SO]
        self._n_starts = 0
        self._spent_s = 0.0  # of the student's own time, by the children before this one
        self._child: Child | None = None
        self.problem = ""
        self._restart()

    @property
    def spent_s(self) -> float:
        """The student's own time so far (see own_time)."""
        return self._spent_s + (self._child.own_time.spent_s if self._child else 0.0)

    def cell(self, source: str) -> list[NotebookNode]:
        """Run a cell; its outputs, with an error whenever it did not come to its end."""
        if self.problem or self._child is None:
            return [_error("NotRun", self.problem)]
        if self.spent_s > NOTEBOOK_S:
            self.problem = f"the notebook had used its {NOTEBOOK_S:g} s"
            return [_error("NotRun", self.problem)]
        try:
            result = self._child.run_cell(source, self._limits.cell_s)
        except StudentEnded as ended:
            self._restart()
            return [_error("DeadKernel", str(ended))]
        self._sources.append(source)
        is_told = any(output.output_type == "error" for output in result.outputs)
        if result.ok or (is_told and not result.ended):
            return result.outputs
        return [*result.outputs, _error("CellTimeout" if result.ended else "Error", result.ended)]

    def ask(self, play: Callable[[AskedStudent], list[NotebookNode]]) -> list[NotebookNode]:
        """What `play` finds in a fork of the process as it is now."""
        if self._child is None:
            return [_error("NotRun", self.problem)]
        try:
            with self._child.forked(), self._child.deadline(self._limits.check_s):
                return play(AskedStudent(self._child))
        except StudentEnded as ended:
            return [_error("DeadKernel", str(ended))]
        finally:
            if not self._child.alive:
                self._restart()

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._spent_s = self.spent_s
            self._child.end()
            self._child = None

    def _restart(self) -> None:
        self.close()
        while not self.problem and self._n_starts < MAX_STARTS and self.spent_s <= NOTEBOOK_S:
            self._n_starts += 1
            self._child = self._zygote.spawn()
            if self._replay():
                return
            self.close()
        self.problem = self.problem or "the notebook ended its process again and again"

    def _replay(self) -> bool:
        try:
            if self._files:
                self._child.put_files(self._files)
        except ValueError as error:
            self.problem = f"the assignment's files do not reach the student's process: {error}"
            return False
        for i, source in enumerate(self._sources):
            try:
                self._child.run_cell(source, self._limits.cell_s)
            except StudentEnded:
                del self._sources[i]
                return False
        return True


def _error(name: str, text: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])
