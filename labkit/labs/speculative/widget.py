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
from labkit.measuring.plots import png_bytes, with_still
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
    try:
        import ipywidgets
    except ImportError:
        print("(ipywidgets is not installed: one block instead of the player)")
        return draw_block(telling_block(play_with(**CHOSEN)), name)

    look = {"style": {"description_width": "9em"}, "layout": ipywidgets.Layout(width="26em")}
    slider = partial(ipywidgets.SelectionSlider, continuous_update=False, **look)
    controls = {
        "prompt": ipywidgets.Dropdown(
            options=[each.id for each in prompts()],
            value=CHOSEN["prompt"],
            description="prompt",
            **look,
        ),
        "gamma": slider(options=GAMMAS, value=CHOSEN["gamma"], description="gamma"),
        "temperature": slider(
            options=TEMPERATURES, value=CHOSEN["temperature"], description="temperature"
        ),
        "seed": slider(options=range(20), value=CHOSEN["seed"], description="chance"),
    }
    button = ipywidgets.Play(interval=FRAME_MS)
    moment = ipywidgets.IntSlider(description="moment", **look)
    ipywidgets.jslink((button, "value"), (moment, "value"))
    picture = ipywidgets.Image(format="png", layout=ipywidgets.Layout(max_width="100%"))
    played: list[Moment] = []

    def show(_: Any = None) -> None:
        picture.value = png_bytes(draw(played[moment.value], name))

    def play_again(_: Any = None) -> None:
        played[:] = play_with(**{key: control.value for key, control in controls.items()})
        button.max = moment.max = len(played) - 1
        button.value = moment.value = 0
        show()

    for control in controls.values():
        control.observe(play_again, names="value")
    moment.observe(show, names="value")
    play_again()
    still = png_bytes(draw_block(telling_block(played), name))
    left, right = list(controls.values())[:2], list(controls.values())[2:]
    columns = [ipywidgets.VBox([*left, ipywidgets.HBox([button, moment])]), ipywidgets.VBox(right)]
    return with_still(ipywidgets.VBox, lambda box: still)([ipywidgets.HBox(columns), picture])


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
        rng=torch.Generator().manual_seed(seed),
    )


def telling_block(played: Sequence[Moment]) -> list[Moment]:
    """The block in which a token was rejected that had the best chance, after an accepted one.

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
