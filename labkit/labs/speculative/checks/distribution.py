"""Checks of `distribution`: the softmax of the logits over the temperature, cut and scaled."""

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Student, place, value_of
from labkit.checks.compare import expect_equal, expect_tensor, show, tensor_in
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal, expect_unchanged

Rows = tuple  # numbers, or tuples of them, of one shape


@dataclass(frozen=True, slots=True)
class DistributionCase:
    """Logits, settings, and the probabilities that they give.

    kind: what the case is about; "refused" for logits without any probabilities. expected: not
    needed where the student's own answers to other questions are compared with.
    """

    kind: str
    logits: Rows
    expected: Rows = ()
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    dtype: torch.dtype = torch.float32

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.tensor().shape))
        dtype = str(self.dtype).removeprefix("torch.")
        given = {"top_k": self.top_k, "top_p": self.top_p}
        more = "".join(f", {name} {value}" for name, value in given.items() if value is not None)
        return f"{shape} logits ({dtype}), temperature {self.temperature:g}{more}"

    def tensor(self) -> Tensor:
        """The logits."""
        return torch.tensor(self.logits, dtype=self.dtype)

    def ask(self, student: Student, logits: Any = None, **settings: Any) -> Tensor:
        """What the student makes of these logits, or of others: as many numbers, none negative."""
        given = {"temperature": self.temperature, "top_k": self.top_k, "top_p": self.top_p}
        logits = self.tensor() if logits is None else logits
        got = tensor_in(student.distribution(logits, **{**given, **settings}), "the probabilities")
        shape = tuple((logits if isinstance(logits, Tensor) else self.tensor()).shape)
        if tuple(got.shape) != shape:
            raise Wrong(
                "the shape of the probabilities", expected=str(shape), got=str(tuple(got.shape))
            )
        if got.is_complex() or (got < 0).any():
            raise Wrong("the probabilities", expected="none below 0", got="negative ones")
        return got

    def expect(self, student: Student, why: str, tolerance: float | None = None) -> Tensor:
        """Raise Wrong unless the student finds these probabilities; returns them."""
        got = self.ask(student)
        expected = torch.tensor(self.expected, dtype=torch.float64)
        expect_tensor(got, expected, "the probabilities", why=why, tolerance=tolerance)
        return got


@check("distribution", "temperature", "large", gate=True, hint="`torch.softmax` of what?")
def the_temperature_divides_the_logits(student: Student, case: DistributionCase) -> None:
    """The probabilities are the softmax of the logits over the temperature, however large."""
    case.expect(student, "Halving the temperature squares the ratios of the probabilities.")


@check("distribution", "greedy", hint="Nothing can be divided by 0 here.")
def temperature_zero_is_certain(student: Student, case: DistributionCase) -> None:
    """At temperature 0 the largest logit has probability 1, and nothing is drawn by chance."""
    case.expect(student, "One token has probability 1, all others have 0.")


@check("distribution", "top_k", hint="Which are they, and what is their sum?")
def top_k_keeps_the_most_likely(student: Student, case: DistributionCase) -> None:
    """Top-k keeps the k most likely tokens, all if there are fewer; the others get 0; sum 1."""
    case.expect(student, "The probabilities that are kept grow by a common factor, to sum 1.")


@check("distribution", "top_p", hint="Does the token that reaches top_p belong to them?")
def top_p_keeps_the_fewest_that_reach_it(student: Student, case: DistributionCase) -> None:
    """Top-p keeps the fewest of the most likely with at least probability top_p; sum 1."""
    why = "A token is kept if those before it, from the most likely on, have less than top_p."
    case.expect(student, why)


@check("distribution", "order", hint="Each step sees what the one before it left.")
def temperature_then_top_k_then_top_p(student: Student, case: DistributionCase) -> None:
    """All settings at once give what one after the other gives: temperature, top-k, top-p."""
    step = DistributionCase("step", case.logits)
    probs = step.ask(student, temperature=case.temperature)
    for setting in ({"top_k": case.top_k}, {"top_p": case.top_p}):
        logits = probs.double().clamp(min=1e-30).log()
        probs = step.ask(student, logits, **setting)
    why = "Top-p counts probabilities at that temperature, of the tokens that top-k kept, sum 1."
    expect_tensor(case.ask(student), probs.double(), "the probabilities", why=why)


@check(
    "distribution",
    "ties",
    weight=0.5,
    hint="`sort` has an option for that; `topk` promises nothing.",
)
def of_equal_tokens_the_first_are_kept(student: Student, case: DistributionCase) -> None:
    """Of equally likely tokens the first ones are kept, and no more than fit."""
    kept = (case.ask(student) > 1e-6).nonzero().flatten().tolist()
    wanted = [token for token, share in enumerate(case.expected) if share > 0]
    why = "Equal logits are no rarity in half precision."
    expect_equal(kept, wanted, "the tokens that are kept", why=why)


@check("distribution", "rows", hint="The vocabulary is the last dimension.")
def each_row_is_a_distribution(student: Student, case: DistributionCase) -> None:
    """Logits of several rows give as many distributions, each as if it were alone."""
    logits = case.tensor()
    rows = [case.ask(student, row) for row in logits.flatten(0, -2)]
    why = "Only the last dimension is summed, sorted or compared."
    expected = torch.stack(rows).double().reshape(logits.shape)
    expect_tensor(case.ask(student), expected, "the probabilities", why=why)


@check("distribution", "forbidden", weight=0.5, hint="exp(-inf) is a number.")
def a_forbidden_token_has_probability_zero(student: Student, case: DistributionCase) -> None:
    """A logit of -inf has probability 0; the others have what they have without it."""
    logits = case.tensor()
    allowed = torch.isfinite(logits)
    expected = torch.zeros(logits.shape).double()
    expected[allowed] = case.ask(student, logits[allowed]).double()
    expect_tensor(case.ask(student), expected, "the probabilities", why="It is no mistake.")


@check("distribution", "dtype", weight=0.5, hint="What has bfloat16 left of 0.3?")
def half_precision_is_computed_in_single(student: Student, case: DistributionCase) -> None:
    """Logits of half precision give float32 probabilities, float64 ones stay float64."""
    is_double = case.dtype is torch.float64
    got = case.expect(student, "Convert first, then compute.", 1e-11 if is_double else 1e-6)
    if not is_double and got.dtype not in (torch.float32, torch.float64):
        raise Wrong("the dtype of the probabilities", expected="float32", got=show(str(got.dtype)))


@check(
    "distribution",
    "temperature",
    "greedy",
    "top_p",
    "order",
    hint="`x /= t`, `x[...] = 0` and methods that end in `_` change x itself.",
)
def the_logits_stay_as_they_are(student: Student, case: DistributionCase) -> None:
    """The logits that were passed are the same afterwards; somebody else may need them."""
    logits = place(student, case.tensor())
    case.ask(student, logits)
    expect_unchanged(value_of(logits), case.tensor(), "the logits after the call")


@check("distribution", "temperature", weight=0.5, hint="`check_sampling` is given.")
def settings_without_a_meaning_are_refused(student: Student, case: DistributionCase) -> None:
    """A temperature below 0, top_k below 1, and top_p outside (0, 1] are a ValueError."""
    case.ask(student)
    for setting, value in (
        *(("temperature", value) for value in (-1.0, -1e-3)),
        *(("top_k", value) for value in (0, -2)),
        *(("top_p", value) for value in (0.0, -0.5, 1.5)),
    ):
        what = f"what happens with {setting}={value:g}"
        expect_refusal(
            lambda given={setting: value}: case.ask(student, **given), "ValueError", what
        )


@check("distribution", "refused", weight=0.5, hint="Is there a largest one, and is it finite?")
def logits_without_a_largest_are_refused(student: Student, case: DistributionCase) -> None:
    """NaN, infinity and a row of nothing but -inf are a ValueError, at temperature 0 too."""
    fine = replace(case, logits=(0.0,) * 4, expected=(0.25,) * 4)
    fine.expect(student, "")
    for temperature in (case.temperature, 0.0):
        what = f"what happens with {list(case.logits)} at temperature {temperature:g}"
        expect_refusal(lambda at=temperature: case.ask(student, temperature=at), "ValueError", what)


def logs(*weights: float) -> tuple[float, ...]:
    """Logits of which the softmax is in proportion to these weights."""
    return tuple(math.log(weight) for weight in weights)


def shares(*weights: float) -> tuple[float, ...]:
    """The weights, divided by their sum."""
    return tuple(weight / sum(weights) for weight in weights)


NAN, INF = math.nan, math.inf
OPEN_CASES = {
    "distribution": [
        DistributionCase("temperature", logs(8, 2, 4, 2), shares(64, 4, 16, 4), temperature=0.5),
        DistributionCase("temperature", logs(16, 1, 4), shares(4, 1, 2), temperature=2.0),
        DistributionCase("large", (800.0, 900.0, 899.0), (0, *shares(math.e, 1))),
        DistributionCase("greedy", logs(3, 5, 1), (0, 1, 0), temperature=0.0),
        DistributionCase("top_k", logs(1, 4, 3, 2), (0, *shares(4, 3), 0), top_k=2),
        DistributionCase("top_k", logs(1, 4, 3), shares(1, 4, 3), top_k=10),
        DistributionCase("top_p", logs(2, 5, 3), (0, *shares(5, 3)), top_p=0.7),
        DistributionCase("top_p", logs(1, 2, 7), (0, 0, 1), top_p=0.6),
        DistributionCase("order", logs(4, 3, 2, 1), top_k=3, top_p=0.75),
        DistributionCase("order", logs(3, 4, 2, 1), temperature=0.5, top_p=0.5),
        DistributionCase("ties", logs(1, 2, 2, 2, 1), (0, 0.5, 0.5, 0, 0), top_k=2),
        DistributionCase("ties", logs(1, 2, 2, 2, 1), (0, 0.5, 0.5, 0, 0), top_p=0.4),
        DistributionCase("ties", logs(1, 2, 2), (0, 1, 0), temperature=0.0),
        DistributionCase("rows", (logs(1, 3, 2), logs(9, 1, 5))),
        DistributionCase("rows", (logs(1, 3, 2), logs(9, 1, 5)), temperature=0.0),
        DistributionCase("rows", (logs(1, 3, 2), logs(9, 1, 5)), top_k=2),
        DistributionCase("forbidden", (-INF, *logs(1, 3))),
        DistributionCase("forbidden", (-INF, *logs(1, 3)), top_k=2),
        DistributionCase("dtype", (1.0, 0.0), shares(math.e, 1), dtype=torch.bfloat16),
        DistributionCase("dtype", (1.0, 0.0), shares(math.e, 1), dtype=torch.float64),
        DistributionCase("refused", (0.0, NAN, 1.0)),
        DistributionCase("refused", (0.0, INF, 1.0)),
        DistributionCase("refused", (-INF, -INF)),
    ],
}
