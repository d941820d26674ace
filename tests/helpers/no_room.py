"""Memory that ends at an allocation of one's choice: a full GPU, played on a CPU.

It is imported by tests, and read into the kernels of notebooks (see `cell`), so it stands alone.
"""

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from weakref import WeakSet

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

SAID = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.18 GiB of "
    "which 1.10 GiB is free. Process 7 has 78.06 GiB memory in use."
)
KINDS = ("nothing", "two of three", "in the middle")  # what has room
Place = tuple[str, str]  # a file of labkit, and a function in it


class Memory(TorchDispatchMode):
    """Notes the places in labkit that allocate. ends(place, n): whether the n-th allocation fails.

    n counts those of the place, from 1. alive: the memory behind all that was allocated.
    """

    def __init__(self, ends: Callable[[Place, int], bool] = lambda place, n: False) -> None:
        super().__init__()
        self.ends, self.places, self.n_failed = ends, {}, 0
        self.alive: WeakSet = WeakSet()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        given = {id_of(each) for each in tensors_in((args, kwargs or {}))}
        made = [each for each in tensors_in(found) if id_of(each) not in given]
        if made:
            place = place_now()
            self.places[place] = self.places.get(place, 0) + 1
            if self.ends(place, self.places[place]):
                self.n_failed += 1
                raise torch.OutOfMemoryError(SAID)
            self.alive.update(memory_of(each) for each in made)
        return found


def tensors_in(tree: object) -> list[torch.Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, torch.Tensor)]


def memory_of(tensor: torch.Tensor) -> torch.UntypedStorage | torch.Tensor:
    """What views share. A matrix that oneDNN has packed has no views: it is its own memory."""
    return tensor if tensor.is_mkldnn else tensor.untyped_storage()


def id_of(tensor: torch.Tensor) -> int:
    """Of a tensor's memory."""
    memory = memory_of(tensor)
    return id(memory) if memory is tensor else memory._cdata


def place_now() -> Place:
    """The innermost function of labkit that runs."""
    frame = sys._getframe(1)
    while frame:
        if stem := stem_of(frame.f_code.co_filename):
            return stem, frame.f_code.co_name
        frame = frame.f_back
    return "", ""


@cache
def stem_of(file: str) -> str:
    """The name of a file of labkit, without what measures; empty for any other."""
    path = Path(file)
    is_ours = "labkit" in path.parts[:-1] and "measuring" not in path.parts
    return path.stem if is_ours else ""


def install(kind: str) -> None:
    """Let memory end in this process wherever an experiment is ready for it, and nowhere else.

    kind: "nothing" has room; or "two of three" parts of an experiment have; or two of three have
    none after some allocations, "in the middle".
    """
    from labkit.measuring import device  # before anything else imports it

    real, n_calls, memory = device.out_of_memory_as_one, 0, Memory  # a notebook has its own Memory

    def in_short_memory(run):
        nonlocal n_calls
        n_calls += 1
        n_most, n_made = 40 * (n_calls % 3), 0

        def ends(place, n):
            nonlocal n_made
            n_made += 1
            return n_made > n_most

        def in_memory():
            with memory(ends):
                return run()

        def without_room():
            raise torch.OutOfMemoryError(SAID)

        if kind == "in the middle":
            return real(in_memory if n_most else run)
        return real(without_room if kind == "nothing" or not n_most else run)

    device.out_of_memory_as_one = in_short_memory


def cell(kind: str) -> str:
    """A cell that lets a kernel's memory end."""
    return f"{Path(__file__).read_text()}\n\ninstall({kind!r})"
