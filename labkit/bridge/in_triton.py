"""Run a Triton kernel of a notebook: compiled on a GPU, or in Triton's interpreter without one.

The interpreter runs one program after the other in NumPy. It shows no race and no speed. Here it
also refuses each access outside of the kernel's arrays, which may end a process on a GPU.
"""

import contextlib
import dis
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

OLDEST = (3, 2)
INTERPRET = "TRITON_INTERPRET"


class OutsideOfArray(IndexError):
    """A kernel loads or stores outside of its arrays."""


class NotInAKernel(TypeError):
    """A kernel uses NumPy or PyTorch. The interpreter can do that, and no GPU can."""


class NoTriton(RuntimeError):
    """Triton cannot run kernels here."""


class _Language:
    """`triton.language`, imported when a kernel uses it first. It is no error if it is missing."""

    constexpr = "constexpr"  # as Triton writes it: to define a kernel imports nothing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(load(), name)


tl = _Language()


@cache
def why_not() -> str:
    """Why Triton cannot run kernels here, "" if it can. It imports nothing."""
    oldest = ".".join(map(str, OLDEST))
    try:
        found = version("triton")
    except PackageNotFoundError:
        return f"Triton is not installed here (this needs {oldest} or newer, on Linux)"
    if tuple(int(part) for part in found.split(".")[:2] if part.isdecimal()) < OLDEST:
        return f"Triton {found} is too old: this needs {oldest} or newer"
    return ""


def has_gpu() -> bool:
    """Whether kernels are compiled. Triton needs a GPU that computes in tensor cores, as Ampere."""
    return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)


@cache
def load() -> Any:
    """Import `triton.language`, for the interpreter if there is no GPU. Raises: NoTriton."""
    if reason := why_not():
        raise NoTriton(reason)
    with _interpreting():
        try:
            import triton.language as language

            if not has_gpu():
                _interpret_library(language)
                with contextlib.suppress(ModuleNotFoundError):  # of 3.3 and before
                    import_module("triton.experimental.gluon")  # else the first run imports it
        except Exception as error:
            raise NoTriton(f"Triton does not work here ({error!r:.200})") from error
    return language


def before_fork() -> None:
    """What the grader's zygote does for its children: import Triton, where it is there."""
    with contextlib.suppress(NoTriton):
        load()


def _interpret_library(language: Any) -> None:
    """Let the interpreter run Triton's own functions, which torch may have imported to compile."""
    from triton.runtime.interpreter import InterpretedFunction

    modules = [each for name, each in sys.modules.items() if name.startswith("triton.language")]
    for owner in (*modules, language.tensor):
        for name, value in list(vars(owner).items()):
            if type(value).__name__ == "JITFunction":
                setattr(owner, name, InterpretedFunction(value.fn))
    interpreter = sys.modules[InterpretedFunction.__module__]
    before = interpreter._patch_lang_tensor

    def patch(tensor: Any, *scope: Any) -> None:
        before(tensor, *scope)
        tensor.__index__ = lambda self: int(self.handle.data.squeeze())

    interpreter._patch_lang_tensor = patch  # up to 3.6 it does not fit NumPy 2.4


def run_kernel(
    kernel: Any,
    n_programs: int,
    arrays: Sequence[Tensor],
    numbers: Sequence[float],
    constants: Mapping[str, Any],
) -> list[Tensor]:
    """The arrays as they are after so many programs of a kernel have run on copies of them.

    The kernel gets pointers to the arrays, then the numbers, and the constants by name.
    Raises: NoTriton; NotInAKernel; OutsideOfArray, in the interpreter, and what the kernel raises.
    """
    copies = [each.to("cuda") if has_gpu() else each.clone() for each in arrays]
    prepared(kernel, n_programs, copies, numbers, constants)()
    return [each.cpu() for each in copies]


def prepared(
    kernel: Any,
    n_programs: int,
    arrays: Sequence[Tensor],
    numbers: Sequence[float],
    constants: Mapping[str, Any],
) -> Callable[[], None]:
    """What runs the programs of a kernel on these arrays: see `run_kernel`."""
    language = load()
    given = (*arrays, *numbers)
    if has_gpu():
        from triton import jit

        compiled = _rebuilt(kernel, jit, language)
        return lambda: compiled[(n_programs,)](*given, **constants)
    from triton.runtime.interpreter import InterpretedFunction, InterpreterError

    interpreted = _rebuilt(kernel, InterpretedFunction, language)

    def run() -> None:
        with _interpreting(), _inside(arrays):
            try:
                interpreted[(n_programs,)](*given, **constants)
            except InterpreterError as error:
                raise error.__cause__ or error from None

    return run


@contextlib.contextmanager
def _interpreting() -> Iterator[None]:
    """Ask Triton for its interpreter, where there is no GPU."""
    before = os.environ.get(INTERPRET)
    if not has_gpu():
        os.environ[INTERPRET] = "1"
    try:
        yield
    finally:
        os.environ.pop(INTERPRET, None)
        if before is not None:
            os.environ[INTERPRET] = before


def _plain(function: Any) -> Any:
    """The function that a decorator of Triton's holds."""
    return getattr(function, "fn", function)


def _rebuilt(kernel: Any, decorate: Callable[[Any], Any], language: Any) -> Any:
    """The kernel for this way of running, and with it what else in its names is decorated.

    It gets a copy of its names, for Triton adds its own to them.
    """
    if type(_plain(kernel)) is not FunctionType:
        raise TypeError(f"a kernel is a function, not a {type(kernel).__name__}")
    names = {"tl": language, **_plain(kernel).__globals__}
    _refuse_arrays(_plain(kernel), names)

    def of(function: FunctionType) -> Any:
        made = function.__code__, names, function.__name__, function.__defaults__
        copy = FunctionType(*made, function.__closure__)
        copy.__annotations__, copy.__module__ = function.__annotations__, function.__module__
        copy.__kwdefaults__, copy.__qualname__ = function.__kwdefaults__, function.__qualname__
        return decorate(copy)

    for name, value in list(names.items()):
        if value is tl:
            names[name] = language
        elif type(value).__name__ in ("JITFunction", "InterpretedFunction"):
            names[name] = of(_plain(value))
    return of(_plain(kernel))


def _refuse_arrays(kernel: FunctionType, names: Mapping[str, Any]) -> None:
    """Raises: NotInAKernel if it, or a function of the notebook in it, uses NumPy or PyTorch."""
    seen: set[CodeType] = set()
    left = [kernel.__code__]
    while left:
        code = left.pop()
        if code in seen:
            continue
        seen.add(code)
        for act in dis.get_instructions(code):
            owner = ""
            if isinstance(act.argval, CodeType):
                left.append(act.argval)
            elif act.opname == "LOAD_GLOBAL":
                value = _plain(names.get(act.argval))
                owner = str(getattr(value, "__module__", None) or getattr(value, "__name__", ""))
                if type(value) is FunctionType and value.__globals__ is kernel.__globals__:
                    left.append(value.__code__)
            elif act.opname == "IMPORT_NAME":
                owner = act.argval
            is_array = act.opname in ("LOAD_ATTR", "LOAD_METHOD") and act.argval == "handle"
            if is_array or owner.partition(".")[0] in ("numpy", "torch"):
                raise NotInAKernel(f"`{act.argval}` in {code.co_name}: no GPU runs it in a kernel")


@contextlib.contextmanager
def _inside(arrays: Sequence[Tensor]) -> Iterator[None]:
    """Refuse what the interpreter loads or stores outside of these arrays."""
    import numpy as np

    module = sys.modules["triton.runtime.interpreter"]
    before = module._interpreter
    ends = [(each.data_ptr(), each.data_ptr() + each.nbytes) for each in arrays]

    def checked(act: Callable[..., Any], verb: str, mask_at: int) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            used = given[0][np.broadcast_to(given[mask_at].astype(bool), given[0].shape)]
            if used.size:
                low, high = int(used.min()), int(used.max())
                if not any(first <= low and high < last for first, last in ends):
                    raise OutsideOfArray(f"the kernel {verb} outside of its arrays")
            return act(*given)

        return call

    own = {name: getattr(before, name) for name in dir(before) if not name.startswith("__")}
    own |= {"load": checked(before.load, "loads", 1), "store": checked(before.store, "stores", 2)}
    module._interpreter = SimpleNamespace(**own)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        module._interpreter = before
