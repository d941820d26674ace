"""Speculation token by token on a small pair: drafted, accepted, rejected, resampled, bonus.

What both models say is bars, the uniform that decides is a line. It needs ipywidgets; without it
there is the picture of one block. Viewers that know no widgets show that picture too.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import torch

from labkit.labs.speculative.moments import Distribution, Moment, Residual, moments
from labkit.labs.speculative.pictures import draw, draw_block
from labkit.measuring.widgets import Control, Frames, has_widgets, player
from labkit.models.prompts import prompts
from labkit.zoo import LoadedModel, Pair, load_pair

N_NEW, FRAME_MS = 24, 1500
GAMMAS = tuple(range(1, 9))
TEMPERATURES = (0.0, 0.3, 0.7, 1.0, 1.5)
CHOSEN = {"prompt": "instruction-3", "gamma": 4, "temperature": 1.0, "seed": 4}


def speculation_player(
    distribution: Distribution, residual: Residual, pair: Pair | None = None
) -> Any:
    """Sliders for gamma, temperature and chance, and a button that goes from moment to moment.

    The functions are called as distribution(logits, temperature) and residual(target_probs,
    draft_probs). pair: the tiny one by default. Without ipywidgets: returns the picture of a block.
    """
    pair = pair or load_pair("tiny", device="cpu")
    play_with, name = partial(play, distribution, residual, pair), partial(token_name, pair)
    if not has_widgets("one block instead of the player"):
        return draw_block(telling_block(play_with(**CHOSEN)), name)
    ids = [each.id for each in prompts()]
    controls = [
        Control("prompt", "prompt", CHOSEN["prompt"], ids, is_menu=True),
        Control("gamma", "gamma", CHOSEN["gamma"], GAMMAS),
        Control("temperature", "temperature", CHOSEN["temperature"], TEMPERATURES),
        Control("seed", "chance", CHOSEN["seed"], range(20)),
    ]
    frames = Frames(
        "moment",
        lambda played: len(played) - 1,
        FRAME_MS,
        start=_telling_moment,
    )
    return player(
        [[*controls[:2], frames], controls[2:]],
        play_with,
        lambda played, moment: draw(played[moment], name),
        lambda played: draw_block(telling_block(played), name),
    )


def demo() -> Any:
    """The player of this labkit's own answers, for `labkit show`."""
    from labkit.speculative import distribution, residual

    return speculation_player(distribution, residual)


def play(
    distribution: Distribution,
    residual: Residual,
    pair: Pair,
    *,
    prompt: str,
    gamma: int,
    temperature: float,
    seed: int,
) -> list[Moment]:
    """The moments of some new tokens after one of the kit's prompts, given by its id."""
    text = next(each.text for each in prompts() if each.id == prompt)
    tokenizer = pair.target.tokenizer
    return moments(
        _logits(pair.target),
        _logits(pair.draft),
        tokenizer(text)["input_ids"],
        N_NEW,
        gamma,
        distribution,
        residual,
        temperature=temperature,
        eos=tokenizer.eos_token_id,
        rng=torch.Generator("cpu").manual_seed(seed),
    )


def _telling_moment(played: Sequence[Moment]) -> int:
    """The last one of the telling block."""
    last = telling_block(played)[-1]
    return next(i for i, moment in enumerate(played) if moment is last)


def telling_block(played: Sequence[Moment]) -> list[Moment]:
    """The block that rejected the token with the best chance, after an accepted one.

    Only what the target did there: the verdicts, and the token of its own. Without a rejection: the
    first block.
    """
    judged = [moment for moment in played if moment.what != "drafted"]
    blocks = [list(block) for _, block in groupby(judged, key=lambda moment: moment.n_calls)]

    def chance(block: list[Moment]) -> float:
        is_told = block[0].what == "accepted" and block[-1].what == "resampled"
        return block[-1].place.ratio if is_told else -1.0

    return max(blocks, key=chance)


def token_name(pair: Pair, token: int) -> str:
    """A token as it reads, with signs for the end of a line and for what has no letter."""
    text = pair.target.tokenizer.decode([token]).replace("\n", "\N{RETURN SYMBOL}")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _logits(loaded: LoadedModel) -> Callable[[Sequence[int]], torch.Tensor]:
    def logits(tokens: Sequence[int]) -> torch.Tensor:
        with torch.inference_mode():
            return loaded.model(torch.tensor([tokens], device=loaded.device)).logits[0].cpu()

    return logits
