"""Which implementation of an operation runs here: the first of its list that can.

Each says why it cannot, so that a missing compiler or a wrong number format is a reason and no
surprise. All give the same results, within the rounding of the number format; `operations` and
`sampling` are the reference. On a GPU, PyTorch's own are CUDA kernels (cuBLAS, FlashAttention).
"""

import importlib.util
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import torch

from labkit.engine import operations, sampling
from labkit.engine.weights import DecoderShape, Weights

HALF_PRECISION = (torch.bfloat16, torch.float16)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One implementation. why_not(weights): why it cannot run with them, "" if it can.

    make(shape, n_sequences, device): the function that does it.
    """

    operation: str
    backend: str
    why_not: Callable[[Weights], str]
    make: Callable[..., Callable[..., Any]]


def _why_no_early_start(weights: Weights) -> str:
    """The kernels start before the one ahead has ended: Hopper and later."""
    return _why_no_triton(weights, (9, 0)) or _why_not_half(weights)


def _why_no_tensor_cores(weights: Weights) -> str:
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


def _always(weights: Weights) -> str:
    return ""


def _triton_linear(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    from labkit.engine.triton_linear import linear

    return linear


def _triton_attention(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    from labkit.engine.triton_attention import Attention

    return Attention(shape, n_sequences, device)


def _triton_draw(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    from labkit.engine.triton_accept import Draw

    return Draw(shape.vocab_size, n_sequences, device)


def _triton_accept(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    from labkit.engine.triton_accept import Accept

    return Accept(shape.vocab_size, device)


def _triton_flash(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    from labkit.engine.triton_flash import flash_attention

    return flash_attention


def _onednn_linear(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    from labkit.engine.onednn_linear import Linear

    return Linear()


def _torch_linear(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    return operations.linear


def _torch_attention(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    return operations.Attention(shape)


def _graph_attention(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    return operations.WholeArenaAttention(shape)


def _torch_flash(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    return operations.flash_attention


def _torch_draw(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    return sampling.draw


def _torch_accept(shape: DecoderShape, n_sequences: int, device: torch.device) -> Callable:
    return sampling.accept


KERNELS = (
    Kernel("linear", "triton", _why_no_early_start, _triton_linear),
    Kernel("linear", "onednn", _why_no_packing, _onednn_linear),
    Kernel("linear", "torch", _always, _torch_linear),
    Kernel("attention", "triton", _why_no_early_start, _triton_attention),
    Kernel("attention", "graph", _why_no_gpu, _graph_attention),
    Kernel("attention", "torch", _always, _torch_attention),
    Kernel("flash_attention", "triton", _why_no_tensor_cores, _triton_flash),
    Kernel("flash_attention", "torch", _always, _torch_flash),
    Kernel("draw", "triton", _why_no_triton, _triton_draw),
    Kernel("draw", "torch", _always, _torch_draw),
    Kernel("accept", "triton", _why_no_triton, _triton_accept),
    Kernel("accept", "torch", _always, _torch_accept),
)


def choose(operation: str, weights: Weights, without: Collection[str] = ()) -> Kernel:
    """The first implementation that can run with these weights; none of the backends `without`.

    Raises: ValueError, with every reason, if there is none.
    """
    reasons = []
    for kernel in KERNELS:
        if kernel.operation != operation:
            continue
        reason = "left out" if kernel.backend in without else kernel.why_not(weights)
        if not reason:
            return kernel
        reasons.append(f"{kernel.backend}: {reason}")
    listed = "; ".join(reasons) or "no implementation is known"
    raise ValueError(f"nothing can do {operation!r} here ({listed})")


def made(operation: str, weights: Weights, without: Collection[str] = ()) -> Callable[..., Any]:
    """What `choose` chooses, made for one sequence."""
    return choose(operation, weights, without).make(weights.shape, 1, weights.device)
