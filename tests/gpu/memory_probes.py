"""Ways in which a GPU runs out of memory; a plain script, run by hand or by `shared_on_gpu.py`.

    python tests/gpu/memory_probes.py

Each way happens in a process of its own: torch's allocator, a workspace of cuBLAS and of cuDNN, a
kernel of Triton, a graph in the middle of its capture, and a GPU too full to be opened. A line says
in which words it came, whether labkit knows them, and whether ordinary work goes on afterwards.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch

from labkit.measuring import device, machine

LEFT_BYTES = 2**20  # of the memory, where a probe fills it


def fill(left_bytes: int = LEFT_BYTES) -> list[torch.Tensor]:
    """Take all memory but so much."""
    taken, n_bytes = [], 2**34
    while n_bytes >= left_bytes:
        try:
            taken.append(torch.empty(n_bytes, dtype=torch.uint8, device="cuda"))
        except RuntimeError:
            n_bytes //= 2
    return taken


def of_torch() -> Callable[[], Any]:
    return lambda: torch.empty(2**43, dtype=torch.uint8, device="cuda")


def of_cublas() -> Callable[[], Any]:
    matrix = torch.ones(64, 64, device="cuda", dtype=torch.bfloat16)
    TAKEN.extend(fill())
    return lambda: matrix @ matrix


def of_cudnn() -> Callable[[], Any]:
    image, weights = torch.ones(1, 8, 64, 64, device="cuda"), torch.ones(8, 8, 3, 3, device="cuda")
    TAKEN.extend(fill())
    return lambda: torch.nn.functional.conv2d(image, weights)


def of_triton() -> Callable[[], Any]:
    from labkit.engine.triton_flash import flash_attention

    parts = torch.randn(3, 1, 2, 64, 64, device="cuda", dtype=torch.bfloat16).unbind()
    TAKEN.extend(fill())
    return lambda: flash_attention(*parts)


def of_capture() -> Callable[[], Any]:
    from labkit.engine.captured import captured

    small, n_calls = torch.ones(1000, device="cuda"), []

    def step() -> None:
        n_calls.append(small + 1)
        if len(n_calls) == 3:  # the one that is captured
            torch.empty(2**43, dtype=torch.uint8, device="cuda")
        small.mul_(2)

    return lambda: captured(step)


def of_opening() -> Callable[[], Any]:
    """Another process fills the GPU; this one has not opened it yet."""
    words = (
        "import sys; sys.path.insert(0, 'tests/gpu'); from memory_probes import fill; "
        "taken = fill(2**21); print('full', flush=True); sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    TAKEN.append(subprocess.Popen([sys.executable, "-c", words], **pipes))
    TAKEN[-1].stdout.readline()
    return lambda: torch.ones(1, device="cuda")


PROBES = {make.__name__: make for make in (of_torch, of_cublas, of_cudnn, of_triton, of_capture)}
PROBES["of_opening"] = of_opening
TAKEN: list[Any] = []


def probe(name: str) -> str:
    """Run out of memory in one way. Raises: whatever labkit does not know; AssertionError."""
    run, words = PROBES[name](), "it had room all the same"
    try:
        run()
    except Exception as error:
        words = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:110]}"
        held = error  # as a notebook's traceback would
    else:
        held = None
    if held is not None:
        try:
            device.out_of_memory_as_one(lambda: _raise(held))
        except MemoryError:
            words += " (known)"
        held = None
    device.synchronize()
    device.forget_peak()
    said = machine.ready().replace("\n", " ")
    for each in TAKEN:
        if isinstance(each, subprocess.Popen):
            each.communicate("")
    TAKEN.clear()
    device.free_device_memory()
    _works_again()
    return f"{name}: {words}; works afterwards; {said[:160]}"


def _raise(error: Exception) -> None:
    raise error


def _works_again() -> None:
    """A product, and a graph, on the stream that was current before."""
    from labkit.engine.captured import captured

    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    matrix = torch.ones(256, 256, device="cuda")
    assert (matrix @ matrix)[0, 0] == 256
    numbers = torch.zeros(1, device="cuda")
    replay = captured(lambda: numbers.add_(1))
    before = float(numbers)
    replay()
    assert float(numbers) == before + 1
    del matrix, replay
    device.free_device_memory()
    assert torch.cuda.memory_allocated() < 2**26, torch.cuda.memory_allocated()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", choices=PROBES, help="one way; all if none is named")
    if name := parser.parse_args().name:
        print(probe(name))
        return 0
    status = 0
    for name in PROBES:
        words = [sys.executable, __file__, name]
        said = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        is_known = "(known)" in said.stdout or "had room" in said.stdout
        status |= said.returncode or not is_known
        print(said.stdout.strip() or f"{name}: FAILED {said.stderr[-700:]}", flush=True)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
