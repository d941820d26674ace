"""Which implementation of an operation runs here: the first of its list that can.

Each says why it cannot, so that a missing compiler or a wrong number format is a reason and no
surprise. All give the same results, within the rounding of the number format; `operations` and
`sampling` are the reference. On a GPU, PyTorch's own are CUDA kernels (cuBLAS, FlashAttention).
"""

import importlib.util
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch

from labkit.engine.weights import DecoderShape, Weights

HALF_PRECISION = (torch.bfloat16, torch.float16)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One implementation. why_not(weights): why it cannot run with them, "" if it can.

    module and name: the function, or a class whose objects are that function.
    """

    operation: str
    backend: str
    why_not: Callable[[Weights], str]
    module: str
    name: str

    def make(
        self, shape: DecoderShape | None, n_sequences: int, device: torch.device
    ) -> Callable[..., Any]:
        """The function that does it. Its module is imported here: Triton may be absent."""
        found = getattr(import_module(f"labkit.engine.{self.module}"), self.name)
        return found(shape, n_sequences, device) if isinstance(found, type) else found

    def reason(self, weights: Weights) -> str:
        """Why it cannot run here, "" if it can. A student's labkit has not all kernels."""
        is_here = importlib.util.find_spec(f"labkit.engine.{self.module}")
        return self.why_not(weights) if is_here else "it is not in the labkit of this lab"


def _why_no_early_start(weights: Weights) -> str:
    """The kernels start before the one ahead has ended: Hopper and later."""
    return _why_no_triton(weights, (9, 0)) or _why_not_half(weights)


def why_no_tensor_cores(weights: Weights) -> str:
    return _why_no_triton(weights, (8, 0)) or _why_not_half(weights)


def _why_no_triton(weights: Weights, capability: tuple[int, int] = (8, 0)) -> str:
    """Why Triton's kernels for GPUs of this compute capability cannot run."""
    if reason := _why_no_gpu(weights):
        return reason
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if torch.version.hip or torch.cuda.get_device_capability(weights.device) < capability:
        return f"it needs a GPU of compute capability {capability[0]}.{capability[1]} or more"
    return ""


def _why_not_half(weights: Weights) -> str:
    if weights.dtype in HALF_PRECISION:
        return ""
    return f"it is for half precision, the weights are {weights.dtype}"


def _why_no_gpu(weights: Weights) -> str:
    return "" if weights.device.type == "cuda" else "the weights are not on a GPU"


def _why_no_packing(weights: Weights) -> str:
    if weights.device.type != "cpu" or weights.dtype != torch.float32:
        return "it is for float32 on a CPU"
    from labkit.engine import onednn_linear

    return onednn_linear.why_not()


def always(weights: Weights) -> str:
    return ""


KERNELS = (
    Kernel("linear", "triton", _why_no_early_start, "triton_linear", "linear"),
    Kernel("linear", "onednn", _why_no_packing, "onednn_linear", "Linear"),
    Kernel("linear", "torch", always, "operations", "linear"),
    Kernel("attention", "triton", _why_no_early_start, "triton_attention", "Attention"),
    Kernel("attention", "graph", _why_no_gpu, "operations", "WholeArenaAttention"),
    Kernel("attention", "torch", always, "operations", "Attention"),
    Kernel("draw", "triton", _why_no_triton, "triton_accept", "Draw"),
    Kernel("draw", "torch", always, "sampling", "draw"),
    Kernel("accept", "triton", _why_no_triton, "triton_accept", "Accept"),
    Kernel("accept", "torch", always, "sampling", "accept"),
)


def choose(
    operation: str,
    weights: Weights,
    without: Collection[str] = (),
    kernels: Collection[Kernel] = (),
) -> Kernel:
    """The first implementation that can run with these weights; none of the backends `without`.

    kernels: to choose from, KERNELS if none are given.
    Raises: ValueError, with every reason, if there is none.
    """
    reasons = []
    for kernel in kernels or KERNELS:
        if kernel.operation != operation:
            continue
        reason = "left out" if kernel.backend in without else kernel.reason(weights)
        if not reason:
            return kernel
        reasons.append(f"{kernel.backend}: {reason}")
    listed = "; ".join(reasons) or "no implementation is known"
    raise ValueError(f"nothing can do {operation!r} here ({listed})")


def made(operation: str, weights: Weights) -> Callable[..., Any]:
    """What `choose` chooses, made for one sequence."""
    return choose(operation, weights).make(weights.shape, 1, weights.device)
