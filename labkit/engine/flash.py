"""Which FlashAttention runs here: `registry` chooses; of the engine's own, only lab 7 needs it."""

from collections.abc import Collection

from torch import Tensor

from labkit.engine.registry import Kernel, always, choose, why_no_tensor_cores

NAME = "flash_attention"
KERNELS = (
    Kernel(NAME, "triton", why_no_tensor_cores, "triton_flash", NAME),
    Kernel(NAME, "torch", always, "operations", NAME),
)


def choose_flash(queries: Tensor, without: Collection[str] = ()) -> Kernel:
    """The first that can run with such queries. Raises: ValueError, with every reason."""
    return choose(NAME, queries, without, KERNELS)
