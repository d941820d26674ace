"""Checks of `generate_fixed`.

The model is the check's own: it samples by default, stops at its end-of-text token, and ignores
tokens with the id of the padding if there is no mask, as the real ones do.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy
import torch
from torch import Tensor

from labkit.bridge.student import Offer, Proxy, Student
from labkit.checks.compare import expect_equal, show
from labkit.checks.core import Wrong, check
from labkit.checks.tensors import tensor_in, wanted_tokens

VOCAB_SIZE, EOS, PAD = 50, 49, 48
SETTINGS = (
    "max_new_tokens",
    "min_new_tokens",
    "max_length",
    "min_length",
    "do_sample",
    "num_beams",
    "use_cache",
    "eos_token_id",
    "return_dict_in_generate",
)
UNTOLD = {"max_length": 20, "min_length": 0, "do_sample": True, "num_beams": 1, "use_cache": True}

_generate = partial(check, "generate_fixed", gate=True)


@dataclass(frozen=True, slots=True)
class FixedCase:
    """A prompt, and a model that would end its text after stops_after tokens (None: never)."""

    batch_size: int
    n_input: int
    n_new: int
    stops_after: int | None = None
    seed: int = 0

    def __str__(self) -> str:
        ends = "" if self.stops_after is None else f", end of text after {self.stops_after}"
        return (
            f"{self.n_new} new tokens, prompts of shape ({self.batch_size}, {self.n_input}){ends}"
        )

    def prompt(self) -> Tensor:
        """Random tokens; one of them is the id that this model pads with."""
        rng = torch.Generator().manual_seed(self.seed)
        tokens = torch.randint(PAD, (self.batch_size, self.n_input), generator=rng)
        tokens[0, 0] = PAD
        return tokens


class ScriptedModel:
    """Something to call `generate` on; records every call that made tokens, and these."""

    def __init__(self, case: FixedCase) -> None:
        self.case = case
        self.calls: list[dict] = []
        self.made: list[Tensor] = []

    def offer(self) -> Offer:
        """The object that the student's code gets for a model."""
        settings = {name: UNTOLD.get(name) for name in SETTINGS}
        config = {"eos_token_id": EOS, "pad_token_id": PAD, "vocab_size": VOCAB_SIZE}
        return Offer(
            attributes={
                "generate": self.generate,
                "eval": lambda: None,
                "generation_config": Offer(attributes=settings | config, name="config"),
                "config": Offer(attributes=config, name="config"),
                "device": "cpu",
            },
            name="model",
        )

    def generate(
        self, inputs: Any = None, generation_config: Any = None, **given: Any
    ) -> Tensor | Offer:
        """Prompt and new tokens, by the rules of transformers; in an object if that is asked."""
        if len(self.calls) >= 50:
            raise ValueError("generate was called 50 times for one prompt")
        tokens = inputs if inputs is not None else given.pop("input_ids", None)
        wanted_tokens(tokens, (self.case.batch_size, self.case.n_input), VOCAB_SIZE)
        config = _fields(generation_config)
        settings = UNTOLD | config | given
        # A config without such a token leaves it to the model; saying None outright does not.
        settings["ends"] = given.get("eos_token_id", config.get("eos_token_id") or EOS)
        n_most = settings.get("max_new_tokens")
        if n_most is None:
            n_most = (settings.get("max_length") or 20) - self.case.n_input
        if not isinstance(n_most, int) or isinstance(n_most, bool) or not 0 < n_most < 5000:
            raise ValueError(f"max_new_tokens is {show(n_most)}")
        made = self._made(self._length(n_most, settings))
        self.made.append(made)
        # Last, so that nothing that was given can stand for what the model got.
        self.calls.append({**settings, "tokens": tokens, "given": given, "n_most": n_most})
        whole = torch.cat([tokens.to(made.dtype), made], dim=1)
        if not settings.get("return_dict_in_generate"):
            return whole
        return Offer(read={"sequences": lambda: whole}, name="GenerateDecoderOnlyOutput")

    def _length(self, n_most: int, settings: dict) -> int:
        stops = self.case.stops_after
        least = settings.get("min_new_tokens") or 0
        least = max(least, (settings.get("min_length") or 0) - self.case.n_input)
        ends = settings["ends"]
        is_listening = EOS in ends if isinstance(ends, list | tuple) else ends == EOS
        suppressed = settings.get("suppress_tokens") or ()
        if stops is None or not is_listening or EOS in suppressed:
            return n_most
        return min(n_most, max(stops, least))

    def _made(self, n_made: int) -> Tensor:
        rng = torch.Generator().manual_seed(self.case.seed + 1000)
        return torch.randint(PAD, (self.case.batch_size, 5000), generator=rng)[:, :n_made].clone()


def _fields(config: Any) -> dict:
    """The settings in a GenerationConfig, or nothing."""
    if not isinstance(config, Proxy):
        return {}
    return {name: getattr(config, name) for name in SETTINGS if name != "min_length"}


@dataclass(frozen=True)
class Generated:
    """One call of the student's function: the model it used, and the result."""

    model: ScriptedModel
    got: Any

    @property
    def call(self) -> dict:
        """The only call of `generate`. Raises Wrong if there is none, or more."""
        expect_equal(len(self.model.calls), 1, "the calls of `model.generate`")
        return self.model.calls[0]


def play_of(student: Student, case: FixedCase) -> Generated:
    """The student's generation on the scripted model, played once for all checks."""

    def play() -> Generated:
        model = ScriptedModel(case)
        return Generated(model, student.generate_fixed(model.offer(), case.prompt(), case.n_new))

    return student.once(("generate_fixed", case), play)


def _free(case: FixedCase) -> bool:
    return case.stops_after is None


@_generate(hint="`generate` returns prompt and new tokens. Cut off the prompt.", applies_to=_free)
def the_new_tokens_alone_come_back(student: Student, case: FixedCase) -> None:
    """The function returns all new tokens, without the prompt."""
    played = play_of(student, case)
    call = played.call
    tokens = tensor_in(played.got, "the result")
    why = ""
    if tuple(tokens.shape) == (case.batch_size, case.n_input + case.n_new):
        why = "The prompt is still there. Its tokens were not generated."
    if tokens.ndim == 2 and len(tokens) == 1 < case.batch_size:
        why = "There is one sequence, and there are several prompts."
    is_other = played.model.made[0].shape[1] != case.n_new
    if call.get("max_new_tokens") is None and is_other:
        why = "`max_length` counts the prompt too. Use `max_new_tokens`."
    wanted = [case.batch_size, case.n_new]
    expect_equal(list(tokens.shape), wanted, "the shape of the result", why=why)
    expect_equal(tokens.tolist(), played.model.made[0].tolist(), "the new tokens")


@_generate(
    weight=1.5,
    hint="Set the smallest number of new tokens too, not only the largest.",
    applies_to=lambda case: not _free(case),
)
def end_of_text_cannot_end_a_run(student: Student, case: FixedCase) -> None:
    """A model that would stop early still makes `n_new` tokens."""
    played = play_of(student, case)
    call = played.call
    n_made = played.model.made[0].shape[1]
    if n_made != case.n_new:
        raise Wrong(
            "the number of new tokens",
            expected=show(case.n_new),
            got=show(n_made),
            why="The model stopped early, at its end-of-text token." * (n_made < call["n_most"]),
        )


@_generate(hint="Pass an attention mask of ones, with the shape of tokens.")
def every_token_of_the_prompt_is_seen(student: Student, case: FixedCase) -> None:
    """The attention mask is all ones, one for each token of the prompt."""
    played = play_of(student, case)
    mask = played.call["given"].get("attention_mask")
    if mask is None:
        raise Wrong(
            "the attention mask",
            expected="a mask of ones",
            got="none",
            why="Without a mask, the model ignores tokens whose id is that of the padding.",
        )
    got = tensor_in(mask, "the attention mask")
    expect_equal(list(got.shape), [case.batch_size, case.n_input], "its shape")
    n_hidden = int((got.double() != 1).sum())
    if n_hidden:
        others = f"{n_hidden} of {got.numel()} numbers that are not 1"
        raise Wrong("the attention mask", expected="only ones", got=others)


@_generate(hint="Switch sampling off in your call: many models sample by default.")
def decoding_is_greedy(student: Student, case: FixedCase) -> None:
    """Decoding is greedy: no sampling, one beam, and the cache is on."""
    call = play_of(student, case).call
    if _setting(call, "do_sample"):
        raise Wrong(
            "`do_sample`",
            expected="False",
            got=show(call["do_sample"]),
            why="The model's own settings may say that it samples. Your call must say no.",
        )
    if _setting(call, "num_beams") not in (None, 1):
        raise Wrong(
            "`num_beams`",
            expected="1",
            got=show(call["num_beams"]),
            why="Several beams look for another text than the greedy one.",
        )
    if _setting(call, "use_cache") in (False, 0):
        raise Wrong(
            "`use_cache`",
            expected="True",
            got="False",
            why="Without the cache, each step reads the whole text again.",
        )


def _setting(call: dict, name: str) -> bool | float | None:
    """A setting of the call: yes or no, a number, or nothing."""
    value = call.get(name)
    if isinstance(value, torch.Tensor | numpy.ndarray) and math.prod(value.shape) == 1:
        value = value.item()
    if value is not None and not isinstance(value, bool | int | float):
        raise Wrong(f"`{name}`", expected="True, False or a number", got=show(value))
    return value


@_generate(hint="Pass tokens to `generate` without any change.")
def the_prompt_goes_in_unchanged(student: Student, case: FixedCase) -> None:
    """The model gets the prompt unchanged, with all sequences of the batch at once."""
    call = play_of(student, case).call
    got = tensor_in(call["tokens"], "the prompt")
    expect_equal(got.tolist(), case.prompt().tolist(), "the tokens that the model gets")


OPEN_CASES = {
    "generate_fixed": [
        FixedCase(batch_size=2, n_input=5, n_new=4),
        FixedCase(batch_size=3, n_input=30, n_new=6, stops_after=2, seed=1),
        FixedCase(batch_size=1, n_input=1, n_new=1, seed=2),
    ],
}
