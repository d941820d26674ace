"""Checks of `generate`.

It is about what the cache saves: the prompt is fed once, then one token a call.

The `forward` that generation calls is the check's own: it records what it is fed.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import place, value_of
from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import expect_equal, joined
from labkit.checks.core import NotJudged, Wrong, check
from labkit.checks.forms import expect_refusal
from labkit.checks.tensors import expect_unchanged, tensor_in, wanted_tokens
from labkit.labs.kv_cache.checks.stored import random_tokens, wanted_floats
from labkit.models.transformer import generate_uncached, sampler

_generate = partial(check, "generate", gate=True)


@dataclass(frozen=True, slots=True)
class GenerateCase:
    """A prompt and the tokens wanted after it; the next token depends on the last one alone."""

    n_prompt: int
    n_new: int
    batch: int = 1
    seed: int = 0
    vocab_size: int = 29

    def __str__(self) -> str:
        return f"{self.n_new} tokens after a prompt of {self.n_prompt}, batch of {self.batch}"

    def prompt(self) -> Tensor:
        rng = torch.Generator().manual_seed(self.seed)
        return torch.randint(self.vocab_size, (self.batch, self.n_prompt), generator=rng)

    def logits(self, tokens: Tensor) -> Tensor:
        """Logits after each token: a fixed random row for each."""
        return random_tokens(self.seed + 1, self.vocab_size, self.vocab_size)[tokens.long()]


class RecordedForward:
    """The `forward` that a check hands out: it records what it is fed."""

    def __init__(self, case: GenerateCase) -> None:
        self.case = case
        self.fed: list[Tensor] = []

    def __call__(self, tokens: Any) -> Tensor:
        n_fed = tokens.shape[1] if isinstance(tokens, Tensor) and tokens.ndim == 2 else 0
        wanted_tokens(tokens, (self.case.batch, n_fed), self.case.vocab_size)
        most = 4 * (self.case.n_prompt + self.case.n_new)
        if not 0 < n_fed <= most or len(self.fed) > 4 * self.case.n_new + 4:
            raise ValueError(f"forward call {len(self.fed) + 1} with {n_fed} tokens")
        self.fed.append(tokens)
        return self.case.logits(tokens)

    @property
    def lengths(self) -> list[int]:
        """The number of tokens fed to each call."""
        return [tokens.shape[1] for tokens in self.fed]


@_generate(hint="Call forward once per new token. Do not feed the last one.")
def one_forward_per_new_token(student: Student, case: GenerateCase) -> None:
    """`n_new` tokens take exactly `n_new` calls of `forward`, and 0 take 0."""
    forward = RecordedForward(case)
    student.generate(forward, case.prompt(), case.n_new)
    why, last = "", generate_uncached(case.logits, case.prompt(), case.n_new)[:, -1:]
    if len(forward.fed) == case.n_new + 1 and torch.equal(forward.fed[-1].long(), last):
        why = "There is one call too many. The last new token is never fed."
    if not case.n_new:
        why = "No new token is wanted, so nothing has to be computed."
    expect_equal(len(forward.fed), case.n_new, "the calls of `forward`", why=why)


@_generate(
    hint="Feed the prompt first. Then feed only the token that was picked last.",
    applies_to=lambda case: case.n_new > 1,
)
def the_prompt_once_then_single_tokens(student: Student, case: GenerateCase) -> None:
    """The first call gets the prompt, every later one just the token picked before."""
    forward = RecordedForward(case)
    student.generate(forward, case.prompt(), case.n_new)
    whole = [case.n_prompt + i for i in range(len(forward.fed))]
    expect_equal(
        forward.lengths[: case.n_new],
        [case.n_prompt, *[1] * (case.n_new - 1)],
        "the tokens fed to each call",
        why="All tokens are fed again each time, so nothing is saved."
        if forward.lengths == whole
        else "",
    )


@_generate(hint="In each row, take the most likely token of the last position.")
def tokens_continue_the_prompt_greedily(student: Student, case: GenerateCase) -> None:
    """Without `pick`, the result is the prompt and then the tokens of greedy decoding."""
    got = student.generate(RecordedForward(case), case.prompt(), case.n_new)
    expected = generate_uncached(case.logits, case.prompt(), case.n_new)
    tokens = tensor_in(got, "the tokens")
    expect_equal(list(tokens.shape), list(expected.shape), "the shape of what is returned")
    if tokens.is_floating_point():
        raise Wrong("the tokens", expected="whole numbers", got=str(tokens.dtype))
    for row, expected_row in zip(tokens.tolist(), expected.tolist(), strict=True):
        expect_equal(row, expected_row, "a row of tokens, prompt first", why=_slip(tokens, case))


@_generate(
    weight=0.5,
    hint="Write into a tensor of your own. `torch.cat` makes a new one.",
    applies_to=lambda case: case.n_new > 0,
)
def the_prompt_stays_as_it_is(student: Student, case: GenerateCase) -> None:
    """The caller's `tokens` are the same after the call as before it."""
    prompt, forward = place(student, case.prompt()), RecordedForward(case)
    student.generate(forward, prompt, case.n_new)
    expect_unchanged(value_of(prompt), case.prompt(), "the prompt after the call")
    if not forward.fed:
        raise NotJudged("`forward` is never called")


def _slip(tokens: Tensor, case: GenerateCase) -> str:
    """The sentences for tokens that known mistakes give."""
    prompt = case.prompt()
    by_first_row = generate_uncached(
        lambda tokens: case.logits(tokens[:1].expand_as(tokens)), prompt, case.n_new
    )
    start = generate_uncached(case.logits, prompt[:, :1], case.n_new)[:, 1:]
    slips = {
        "The logits of the first position were used; the next token follows the last one.": (
            torch.cat([prompt, start], dim=1)
        ),
        "Every row got the token of the first row.": by_first_row,
    }
    return joined(sentence for sentence, made in slips.items() if torch.equal(tokens, made))


@_generate(
    hint="Call `pick` once per new token, with the logits (B V) of the last position.",
    applies_to=lambda case: case.n_new > 0,
)
def sampled_tokens_equal_the_uncached_ones(student: Student, case: GenerateCase) -> None:
    """With a seeded sampler as `pick`, the tokens are those of the uncached baseline."""
    seeded = [sampler(torch.Generator().manual_seed(case.seed), 0.4) for _ in range(2)]
    n_calls = 0

    def pick(logits: Any) -> Tensor:
        nonlocal n_calls
        n_calls += 1
        shape = (case.batch, case.vocab_size)
        return seeded[0](wanted_floats(logits, shape, "what `pick` gets"))

    got = student.generate(RecordedForward(case), case.prompt(), case.n_new, pick=pick)
    expected = generate_uncached(case.logits, case.prompt(), case.n_new, seeded[1])
    why = "" if n_calls else "Without it the tokens are not those that the caller wants."
    expect_equal(n_calls, case.n_new, "the calls of `pick`, one for each new token", why=why)
    tokens, what = tensor_in(got, "the tokens"), "the sampled tokens, prompt first"
    expect_equal(list(tokens.shape), list(expected.shape), f"the shape of {what}")
    expect_equal(tokens, expected, what)


@_generate(
    hint="Compare n_prompt + n_new - 1 with n_context before the first call. 0 is a limit too.",
    applies_to=lambda case: case.n_new > 0,
)
def what_exceeds_the_context_is_refused(student: Student, case: GenerateCase) -> None:
    """With one position too few, ValueError comes before any call; with just enough, none does."""
    n_positions = case.n_prompt + case.n_new - 1
    forward = RecordedForward(case)
    for n_context in (n_positions - 1, 0):
        expect_refusal(
            lambda n=n_context: _within(student, case, forward, n),
            "ValueError",
            f"a context of {n_context} positions where {n_positions} are needed",
            why=_what_is_counted(student, case)
            if n_context
            else "0 is a limit. None means no limit.",
        )
        expect_equal(len(forward.fed), 0, "the calls of `forward` before the refusal")
    try:
        _within(student, case, forward, n_positions)
    except StudentError as error:
        if not error.is_a("ValueError"):
            raise
        why = "The last new token is never fed: all others need a position."
        what = f"a context of {n_positions} positions, as many as are needed"
        raise Wrong(what, expected="no error", got=str(error), why=why) from None


def _what_is_counted(student: Student, case: GenerateCase) -> str:
    """Whether a context is refused if it is smaller than the new tokens, and no larger one."""
    for n_context, is_refused in ((case.n_new - 1, True), (case.n_new, False)):
        try:
            _within(student, case, RecordedForward(case), n_context)
            got = False
        except StudentError as error:
            got = error.is_a("ValueError")
        if got is not is_refused:
            return ""
    return "The new tokens alone are counted. The prompt needs positions too."


def _within(student: Student, case: GenerateCase, forward: RecordedForward, n_context: int) -> Any:
    return student.generate(forward, case.prompt(), case.n_new, n_context=n_context)


OPEN_CASES = {
    "generate": [
        GenerateCase(n_prompt=3, n_new=4),
        GenerateCase(n_prompt=1, n_new=1, seed=1),
        GenerateCase(n_prompt=2, n_new=5, batch=3, seed=2),
        GenerateCase(n_prompt=4, n_new=0, seed=3),
    ],
}
