"""The three stores of the lab side by side: an arena, a ring and pages that fill and rewind.

It plays the student's classes. It needs ipywidgets; without it there is the picture of one moment.
Viewers that know no widgets show that picture too.
"""

from collections.abc import Callable, Sequence
from typing import Any

from labkit.labs.kv_cache.moments import Moment, moments, operations
from labkit.labs.kv_cache.pictures import draw
from labkit.measuring.plots import CourseFigure
from labkit.measuring.widgets import Control, Frames, has_widgets, player

PROMPTS, REWINDS, BLOCKS, WINDOWS = range(1, 8), range(5), (2, 3, 4, 6), (3, 4, 6, 8)
CHOSEN = {"n_prompt": 5, "n_rewind": 3, "block_size": 4, "window": 4}
FRAME_MS = 1200


def store_player(
    arena_cache: Callable[..., Any], ring_cache: Callable[..., Any], paged_cache: Callable[..., Any]
) -> Any:
    """Controls for the prompt, the rewind, the blocks and the window, and a button that goes on.

    The classes are called as those of `labkit.kv_cache`. Without ipywidgets: returns the picture of
    a moment. Raises: NotImplementedError while none of them is written.
    """

    def play(**chosen: int) -> list[Moment]:
        shown = moments(arena_cache, ring_cache, paged_cache, **chosen)
        stores = shown[-1].arena, shown[-1].ring, shown[-1].pages
        if all("NotImplementedError" in store.fault for store in stores):
            raise NotImplementedError(arena_cache.__name__)
        return shown

    if not has_widgets("one moment instead of the player"):
        shown = play(**CHOSEN)
        return picture(shown, telling_moment(shown))
    return player(
        [
            [
                Control("n_prompt", "prompt", CHOSEN["n_prompt"], PROMPTS),
                Frames("moment", lambda shown: len(shown) - 1, FRAME_MS, start=telling_moment),
            ],
            [
                Control("n_rewind", "rewind", CHOSEN["n_rewind"], REWINDS),
                Control("block_size", "block size", CHOSEN["block_size"], BLOCKS),
                Control("window", "window", CHOSEN["window"], WINDOWS),
            ],
        ],
        play,
        picture,
        lambda shown: picture(shown, telling_moment(shown)),
        label_em=6,
        width_em=22,
    )


def demo() -> Any:
    """The player of this labkit's own answers, for `labkit show`."""
    from labkit.kv_cache import ArenaCache, PagedCache, RingCache

    return store_player(ArenaCache, RingCache, PagedCache)


def picture(shown: Sequence[Moment], moment: int) -> CourseFigure:
    """The picture of a moment, with its changes marked."""
    return draw(shown[moment], shown[moment - 1] if moment else None)


def telling_moment(shown: Sequence[Moment]) -> int:
    """The token after the rewind: it takes the place of one that is no longer read."""
    names = [what for what, _, _ in operations(CHOSEN["n_prompt"], CHOSEN["n_rewind"])]
    return min(names.index("rewind") + 1, len(shown) - 1)
