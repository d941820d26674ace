"""A teacher's test cell, run in the judge: it asks the student's process for values and decides.

The cell runs with the teacher's names, never with the student's of the same name: what the locked
and the plain cells of the assignment bind, and what any cell imports. All else it asks for. Since
values of the student's come here, the cell may only use modules and functions that run no text and
open no file; a cell that needs others cannot run outside.
"""

import ast
import builtins
import contextlib
import io
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from autograder.intake.master import MasterCell
from autograder.judging.ends import StudentEnded
from autograder.judging.own.mirrors import AskedStudent, Mirror, is_instance
from autograder.names import statements
from labkit.bridge.requests import value_of
from labkit.checks.names import bound_names, used_names

MODULES = frozenset(
    "abc array bisect calendar cmath collections contextlib copy dataclasses datetime decimal enum "
    "fractions functools hashlib heapq io itertools json math numbers numpy operator pytest random "
    "re statistics string textwrap time types typing unittest warnings".split()
)
FUNCTIONS = frozenset(
    "breakpoint compile eval exec exit globals help input locals open quit".split()
)
READERS = frozenset(
    "DataSource fromfile fromregex genfromtxt load loadtxt main memmap open save savetxt savez "
    "savez_compressed tofile open_memmap f2py ctypeslib".split()
)


BUILTINS = {name: value for name, value in vars(builtins).items() if name not in FUNCTIONS}
BUILTINS["isinstance"] = is_instance


class TeachersNames:
    """What the cells of an assignment bind on the teacher's side.

    names: with their values; answers: those that the cells to fill in bind, which are asked for;
    withheld: the teacher's own that cannot be had here. They are never asked of a student.
    """

    def __init__(self, cells: Sequence[MasterCell], files: Mapping[str, bytes]) -> None:
        """files: of the assignment; its Python files can be imported."""
        code = [cell for cell in cells if cell.node.cell_type == "code"]
        self._files = files
        self._modules: dict[str, ModuleType] = {}
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": self._builtins()}
        self.withheld: set[str] = set()
        to_fill_in = [cell for cell in code if cell.kind in ("exercise", "answer", "written")]
        parts = [part for cell in to_fill_in for part in statements(cell.source)]
        self.answers = {
            name for part in parts if not _is_import(part) for name in bound_names(part)
        }
        asked = set(self.answers)
        for cell in code:
            for part in statements(cell.source):
                if _is_import(part):
                    self._run(part)
                elif cell.kind in ("given", "experiment"):
                    if not used_names(part) & asked:
                        self._run(part)
                    elif _is_definition(part) or cell.kind == "given":
                        self.withheld |= bound_names(part)
                    else:
                        asked |= bound_names(part)
        self.withheld -= self.answers

    def _builtins(self) -> dict[str, Any]:
        return BUILTINS | {"__import__": self._import}

    def _import(self, name: str, *args: Any) -> Any:
        """A module that does no harm with a student's values, or one of the assignment's own."""
        if f"{name}.py" in self._files:
            if name not in self._modules:
                source = self._files[f"{name}.py"].decode()
                refuse_reaching_out(source)
                module = self._modules[name] = ModuleType(name)
                module.__builtins__ = self._builtins()
                exec(compile(source, f"{name}.py", "exec"), vars(module))
            return self._modules[name]
        if name.partition(".")[0] not in MODULES:
            raise ImportError(f"`{name}` is not used outside the student's process")
        return __import__(name, *args)

    def _run(self, part: str) -> None:
        try:
            refuse_reaching_out(part)
            with _in_silence():
                exec(compile(part, "<given>", "exec"), self.names)
        except Exception:
            self.withheld |= bound_names(part)


class Outside:
    """The test cells of one notebook, run one after the other; each sees what earlier ones bind."""

    def __init__(self, teachers: TeachersNames) -> None:
        self._teachers = teachers
        self._names = dict(teachers.names)
        self._asked: set[str] = set()  # of all cells so far: their functions use them yet

    def run(self, source: str, student: AskedStudent) -> list[NotebookNode]:
        """The outputs that nbgrader would read the score from: a result, an error, or nothing."""
        try:
            self._refuse(source)
            self._ask(source, student)
            with _in_silence():
                value = _run_cell(source, self._names)
                text = "" if value is None else _number_or_text(value)
        except (KeyboardInterrupt, StudentEnded):
            raise
        except BaseException as error:  # pytest's own are no Exceptions
            return [_error(error)]
        return [_result(text)] if text else []

    def _refuse(self, source: str) -> None:
        missing = sorted(used_names(source) & self._teachers.withheld)
        if missing:
            raise ImportError(f"the judge cannot make `{missing[0]}` outside")
        refuse_reaching_out(source)

    def _ask(self, source: str, student: AskedStudent) -> None:
        """Ask for what the cell uses and the teacher does not bind, as it is now."""
        own = self._names.keys() - self._asked
        self._asked |= {
            name
            for name in used_names(source)
            if name in self._teachers.answers or not (name in own or name in BUILTINS)
        }
        for name in sorted(self._asked):
            self._names.pop(name, None)
            with contextlib.suppress(NameError):  # the cell binds it, or fails for want of it
                self._names[name] = value_of(getattr(student, name))
        self._asked -= bound_names(source) - self._teachers.answers


def refuse_reaching_out(source: str) -> None:
    """Raises: ImportError for code that runs text or opens files, SyntaxError for no code."""
    attributes = {n.attr for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)}
    used = sorted((attributes & READERS) | (used_names(source) & FUNCTIONS))
    if used:
        raise ImportError(f"`{used[0]}` is not used outside the student's process")


def _run_cell(source: str, scope: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line if that is an expression, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body else None
    is_shown = isinstance(last, ast.Expr) and not source.rstrip().endswith(";")
    body = tree.body[:-1] if is_shown else tree.body
    exec(compile(ast.Module(body, []), "<test>", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "<test>", "eval"), scope) if is_shown else None


def _number_or_text(value: Any) -> str:
    if isinstance(value, Mirror):
        raise TypeError("the last line gives an object of the student's, and no number")
    return repr(value)


def _result(text: str) -> NotebookNode:
    return new_output("execute_result", data={"text/plain": text}, execution_count=1)


def _error(error: BaseException) -> NotebookNode:
    try:
        text = str(error)[:500]
    except Exception:
        text = ""
    return new_output("error", ename=type(error).__name__, evalue=text, traceback=[])


def _is_import(part: str) -> bool:
    return part.lstrip().startswith(("import ", "from "))


def _is_definition(part: str) -> bool:
    return part.lstrip().startswith(("def ", "class ", "@", "async def "))


@contextlib.contextmanager
def _in_silence() -> Any:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
