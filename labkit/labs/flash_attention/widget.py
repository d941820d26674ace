"""FlashAttention tile by tile: the tiles on the chip, and the running softmax of one query.

It plays the student's functions on a memory that counts. It needs ipywidgets; without it there is
the picture of one moment. Viewers that know no widgets show that picture too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from labkit.labs.flash_attention.moments import Moment, all_scores, moments, softmax_of
from labkit.labs.flash_attention.pictures import draw, draw_nothing
from labkit.measuring.widgets import Control, Frames, has_widgets, player
from labkit.models.counted_memory import Memory, attention_memory

N_ROWS, HEAD_DIM, FRAME_MS = 32, 8, 700
TILES = (4, 8, 12, 16, 32)
ORDERS = ("FlashAttention", "FlashAttention-2")
CHOSEN = {"order": ORDERS[0], "tile_q": 8, "tile_kv": 8, "is_causal": False}
QUERY = 21  # its largest score comes late, so that what was there is rescaled
Kernel = Callable[[Memory, int, int, bool], None]


@dataclass(frozen=True, slots=True)
class KernelRun:
    """A kernel's run: its memory, the scores of all pairs, its moments; what stopped it, if any."""

    memory: Memory
    scores: Tensor
    moments: list[Moment]
    stopped: str

    @property
    def is_unwritten(self) -> bool:
        return not self.moments and "NotImplementedError" in self.stopped

    def picture(self, n: int, query: int) -> Figure:
        """The n-th moment; the last one says what stopped the run."""
        if not self.moments:
            return draw_nothing(self.stopped or "nothing was moved")
        title = self.stopped if n == len(self.moments) - 1 else ""
        return draw(self.memory, self.scores, self.moments, n, query, title)


def tile_player(flash_attention_1: Kernel, flash_attention_2: Kernel) -> Any:
    """Controls for the order of the loops, tiles and the query, and a button that goes on.

    The functions are called as those of `labkit.flash_attention`. Without ipywidgets: returns the
    picture of a moment. Raises: NotImplementedError while the first of them is not written.
    """
    kernels = dict(zip(ORDERS, (flash_attention_1, flash_attention_2), strict=True))

    def play_with(**chosen: Any) -> KernelRun:
        run = play(kernels, **chosen)
        if run.is_unwritten and chosen["order"] == ORDERS[0]:  # it opens with that order
            raise NotImplementedError(flash_attention_1.__name__)
        return run

    if not has_widgets("one moment instead of the player"):
        run = play_with(**CHOSEN)
        return run.picture(telling_moment(run), QUERY)
    return player(
        [
            [
                Control("order", "order", CHOSEN["order"], ORDERS, is_menu=True),
                Frames(
                    "moment",
                    lambda run: max(0, len(run.moments) - 1),
                    FRAME_MS,
                    start=telling_moment,
                ),
            ],
            [
                Control("tile_q", "tile of Q", CHOSEN["tile_q"], TILES),
                Control("tile_kv", "tile of K", CHOSEN["tile_kv"], TILES),
            ],
            [
                Control("is_causal", "causal", CHOSEN["is_causal"]),
                Control("query", "query", QUERY, range(N_ROWS), is_late=True),
            ],
        ],
        play_with,
        lambda run, moment, query: run.picture(moment, query),
        lambda run: run.picture(telling_moment(run), QUERY),
        label_em=6,
        width_em=22,
    )


def demo() -> Any:
    """The player of this labkit's own answers, for `labkit show`."""
    from labkit.flash_attention import flash_attention_1, flash_attention_2

    return tile_player(flash_attention_1, flash_attention_2)


def play(
    kernels: dict[str, Kernel], *, order: str, tile_q: int, tile_kv: int, is_causal: bool
) -> KernelRun:
    """A run of one of the kernels, up to its end or its first error."""
    generator = torch.Generator("cpu").manual_seed(5)
    parts = 1.5 * torch.randn(3, N_ROWS, HEAD_DIM, generator=generator)
    room = 2 * (tile_q + tile_kv) * HEAD_DIM * 4  # tiles of Q and O, of K and V
    memory, stopped = attention_memory(*parts, sram_bytes=room), ""
    try:
        kernels[order](memory, tile_q, tile_kv, is_causal)
    except Exception as error:
        stopped = f"stopped: {type(error).__name__}: {error}"
    return KernelRun(memory, all_scores(memory), moments(memory, is_causal), stopped)


def telling_moment(run: KernelRun) -> int:
    """Where what `QUERY` had is rescaled the most, or else the middle."""

    def rescaled(n: int) -> float:
        softmax = softmax_of(run.scores, run.moments[n], QUERY)
        return softmax.rescaled if softmax and run.moments[n].is_new[QUERY].any() else 1.0

    best = min(range(len(run.moments)), key=rescaled, default=0)
    return best if run.moments and rescaled(best) < 1 else len(run.moments) // 2
