"""Whole steps as CUDA graphs: the host launches one graph instead of many kernels.

All that a step reads and writes stays where it was when the step was captured.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from labkit.engine.decoder import Decoder


@torch.inference_mode()
def captured(step: Callable[[], None], pool: Any = None) -> Callable[[], None]:
    """The step as a graph. Two warm-up runs before it do all one-time work.

    pool: memory for what it makes on the way, of `torch.cuda.graph_pool_handle`, where graphs share
    it: what a step has made is lost then when another one runs.

    Values that the step changes have to be set again. The tensors that it reads live as long as the
    graph does. Raises: the exceptions of the step; the stream is then the earlier one.
    """
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    graph, errors = torch.cuda.CUDAGraph(), []
    own = torch.cuda.Stream()  # PyTorch's own belongs to the GPU of the first graph of all
    try:
        with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(graph, pool, own):
            try:
                step()
            except Exception as error:  # it may break the capture, whose end then raises another
                errors.append(error)
                raise
    except Exception:
        if errors:
            raise errors.pop() from None
        raise
    return partial(_replay, graph, step)


def replayed(step: Callable[[], None], decoder: "Decoder") -> Callable[[], None]:
    """The step as a graph, or unchanged if the decoder's kernels cannot be captured."""
    return captured(step) if decoder.can_capture else step


def _replay(graph: torch.cuda.CUDAGraph, step: Callable[[], None]) -> None:
    """`step` is here for its tensors: a graph does not own what it reads."""
    graph.replay()
