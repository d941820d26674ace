"""Checks of `distribution`: the softmax of the logits over the temperature, cut and scaled."""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import place, value_of
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, joined, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal
from labkit.checks.tensors import expect_tensor, expect_unchanged, slip_in_tensors, tensor_in
from labkit.labs.speculative.checks.cases import ORDER_SLIPS

Rows = tuple  # numbers, or tuples of them, of one shape


@dataclass(frozen=True, slots=True)
class DistributionCase:
    """Logits, settings, and the probabilities that they give.

    kind: what the case is about; "refused" for logits without any probabilities, "reached" for
    equal ones of which some sum up to exactly top_p. expected: not
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
            what, found = "the shape of the probabilities", str(tuple(got.shape))
            raise Wrong(what, expected=str(shape), got=found)
        if (got < 0).any():
            raise Wrong("the probabilities", expected="none below 0", got="negative ones")
        return got

    def expect(
        self,
        student: Student,
        why: str = "",
        tolerance: float | None = None,
        *,
        slips: bool = False,
    ) -> Tensor:
        """Raise Wrong unless the student finds these probabilities; returns them.

        slips: name the mistakes of `SLIPS` that give what the student's function gives.
        """
        got = self.ask(student)
        expected = torch.tensor(self.expected, dtype=torch.float64)
        if slips:
            why = self.cause(student, expected)
        expect_tensor(got, expected, "the probabilities", why=why, tolerance=tolerance)
        return got

    def cause(self, student: Student, expected: Tensor) -> str:
        """The sentences of the slips that give what the student gives, here and in open cases."""
        if torch.allclose(self.ask(student).double(), expected, atol=1e-6):
            return ""
        cases = [self, *(each for each in OPEN_CASES["distribution"] if each.kind == self.kind)]
        given = [(each.ask(student), each) for each in cases]
        return joined(
            text
            for text, slip in SLIPS.items()
            if all(slip_in_tensors(got, {text: slip}, each, within=1e-5) for got, each in given)
        )

    def powers(self) -> Tensor:
        """What `exp` gives for the logits as they are."""
        return (self.tensor().float() / self.temperature).exp()

    def cut(
        self, *, over: float | None = None, scaled: bool = True, reached: bool = True
    ) -> Tensor:
        """The probabilities at another temperature, not scaled, or without the last of top-p."""
        probs = (self.tensor().double() / (self.temperature if over is None else over)).softmax(-1)
        ordered, order = probs.sort(dim=-1, descending=True, stable=True)
        if self.top_k is not None:
            ordered[..., self.top_k :] = 0
        if self.top_p is not None:
            before = ordered.cumsum(-1) - ordered * reached
            ordered[before >= self.top_p] = 0
        kept = torch.zeros_like(probs).scatter(-1, order, ordered)
        return kept / kept.sum(-1, keepdim=True) if scaled else kept


SLIPS = {  # what known mistakes give, by what is said of them
    "Divide the logits by the temperature before the softmax.": lambda case: case.cut(over=1),
    "The logits are multiplied by the temperature. Divide them by it.": (
        lambda case: case.cut(over=1 / case.temperature)
    ),
    "The temperature divides the logits, not the probabilities.": (
        lambda case: case.cut(over=1) / case.temperature
    ),
    "Divide the kept probabilities by their sum.": lambda case: case.cut(scaled=False),
    "The token with which the sum reaches top_p is kept, too.": (
        lambda case: case.cut(reached=False)
    ),
    "`exp` gives infinity here. Use `torch.softmax`, or subtract the largest logit first.": (
        lambda case: case.powers() / case.powers().sum(-1, keepdim=True)
    ),
}


_probs = partial(check, "distribution", gate=True)


@_probs("temperature", "large", hint="Use `torch.softmax` of logits / temperature.")
def the_temperature_divides_the_logits(student: Student, case: DistributionCase) -> None:
    """The probabilities are the softmax of logits / temperature, also for large logits."""
    case.expect(student, slips=True)


@_probs("greedy", hint="Treat temperature 0 before you divide.")
def temperature_zero_is_certain(student: Student, case: DistributionCase) -> None:
    """At temperature 0 the largest logit has probability 1, and all others 0."""
    case.expect(student, "One token has probability 1, all others have 0.")


@_probs("top_k", hint="Set all others to 0, then divide by the sum.")
def top_k_keeps_the_most_likely(student: Student, case: DistributionCase) -> None:
    """Top-k keeps the k most likely tokens, the others get 0, and the sum is 1."""
    case.expect(student, slips=True)


@_probs("top_p", "reached", hint="Keep the token with which the sum reaches top_p, too.")
def top_p_keeps_the_fewest_that_reach_it(student: Student, case: DistributionCase) -> None:
    """Top-p keeps the fewest most likely tokens with a sum of at least top_p; new sum 1."""
    if case.kind == "top_p":
        case.expect(student, slips=True)
        return
    n_kept, n_right = int((case.ask(student) > 1e-6).sum()), sum(map(bool, case.expected))
    why = "Their sum is exactly top_p: keep no further token." * (n_kept > n_right)
    expect_equal(n_kept, n_right, "the number of tokens that top_p keeps", why=why)


@_probs("order", hint="Apply top-k to the result of the temperature, and top-p to that of top-k.")
def temperature_then_top_k_then_top_p(student: Student, case: DistributionCase) -> None:
    """The settings are applied in this order: temperature, top-k, top-p."""

    def in_order(*names: str) -> Tensor:
        step, logits = DistributionCase("step", case.logits), case.tensor()
        for name in names:
            probs = step.ask(student, logits, **{name: getattr(case, name)}).double()
            logits = probs.clamp(min=1e-30).log()
        return probs

    got, right = case.ask(student), in_order("temperature", "top_k", "top_p")
    if not torch.allclose(got.double(), right, atol=1e-6):
        why = slip_in_tensors(got, ORDER_SLIPS, in_order, within=1e-5)
        expect_tensor(got, right, "the probabilities", why=why)


@_probs(
    "ties",
    weight=0.5,
    hint="Use `sort(dim=-1, descending=True, stable=True)`; `topk` promises no order.",
)
def of_equal_tokens_the_first_are_kept(student: Student, case: DistributionCase) -> None:
    """Of equally likely tokens, those with the smaller index are kept."""
    kept = (case.ask(student) > 1e-6).nonzero().flatten().tolist()
    wanted = [token for token, share in enumerate(case.expected) if share > 0]
    logits = [sorted(case.logits[token] for token in tokens) for tokens in (kept, wanted)]
    why = "Of equal logits, take those with the smaller index." * (logits[0] == logits[1])
    expect_equal(kept, wanted, "the tokens that are kept", why=why)


@_probs("rows", hint="Sort and sum over the last dimension, `dim=-1`.")
def each_row_is_a_distribution(student: Student, case: DistributionCase) -> None:
    """Each row of logits gives its own distribution."""
    logits = case.tensor()
    rows = [case.ask(student, row) for row in logits.flatten(0, -2)]
    got = case.ask(student)
    fact = "Here all rows together sum to 1. " * math.isclose(got.sum(), 1, rel_tol=1e-4)
    why = f"{fact}Sum, sort and compare over the last dimension only." * (not got.isnan().any())
    expected = torch.stack(rows).double().reshape(logits.shape)
    expect_tensor(got, expected, "the probabilities", why=why)


@_probs("forbidden", weight=0.5, hint="Leave -inf as it is: exp(-inf) is 0.")
def a_forbidden_token_has_probability_zero(student: Student, case: DistributionCase) -> None:
    """A logit of -inf has probability 0, and the others are as without it."""
    logits = case.tensor()
    allowed = torch.isfinite(logits)
    expected = torch.zeros(logits.shape).double()
    expected[allowed] = case.ask(student, logits[allowed]).double()
    why = "A logit of -inf is allowed."
    got = case.ask(student)
    expect_tensor(got, expected, "the probabilities", why=why)
    expect_equal(got[~allowed].any().item(), False, "a probability above 0 for a logit of -inf")


@_probs("dtype", weight=0.5, hint="Convert with `.float()` before you compute.")
def half_precision_is_computed_in_single(student: Student, case: DistributionCase) -> None:
    """Half precision is computed in float32, and float64 stays float64."""
    is_double = case.dtype is torch.float64
    why = "float64 is not converted." if is_double else "Convert first, then compute."
    within = 1e-11 if is_double else 1e-6
    got = case.expect(student, why, within) if case.temperature else case.ask(student)
    if got.dtype not in (torch.float64, torch.float64 if is_double else torch.float32):
        expected = "float64" if is_double else "float32"
        raise Wrong("the dtype of the probabilities", expected=expected, got=show(str(got.dtype)))


@_probs(
    "temperature",
    "greedy",
    "top_p",
    "order",
    hint="Avoid `x /= t`, `x[...] = 0` and methods that end in `_`: they change x.",
)
def the_logits_stay_as_they_are(student: Student, case: DistributionCase) -> None:
    """The call does not change the logits."""
    logits = place(student, case.tensor())
    case.ask(student, logits)
    expect_unchanged(value_of(logits), case.tensor(), "the logits after the call")


@_probs("temperature", weight=0.5, hint="Call `check_sampling` first.", gate=False)
def settings_without_a_meaning_are_refused(student: Student, case: DistributionCase) -> None:
    """A temperature below 0, top_k below 1 or top_p outside (0, 1] raises ValueError."""
    case.ask(student)
    refused = {"temperature": (-1.0, -1e-3), "top_k": (0, -2), "top_p": (0.0, -0.5, 1.5)}
    for setting, values in refused.items():
        for value in values:
            ask = partial(case.ask, student, **{setting: value})
            expect_refusal(ask, "ValueError", f"what happens with {setting}={value:g}")


@_probs(
    "refused",
    weight=0.5,
    hint="Raise ValueError unless the largest logit of each row is finite.",
    gate=False,
)
def logits_without_a_largest_are_refused(student: Student, case: DistributionCase) -> None:
    """NaN, infinity or a row of only -inf raises ValueError, also at temperature 0."""
    replace(case, logits=(0.0,) * 4, expected=(0.25,) * 4).expect(student, "")
    for temperature in (case.temperature, 0.0):
        ask = partial(case.ask, student, temperature=temperature)
        what = f"{list(case.logits)} at temperature {temperature:g}"
        expect_refusal(ask, "ValueError", f"what happens with {what}")


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
        DistributionCase("reached", (0.0,) * 4, (0.5, 0.5, 0, 0), top_p=0.5),
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
        DistributionCase("dtype", (1, 0), shares(math.e, 1), dtype=torch.int64),
        DistributionCase("dtype", (1.0, 0.0), (1, 0), temperature=0.0, dtype=torch.float16),
        DistributionCase("refused", (0.0, NAN, 1.0)),
        DistributionCase("refused", (0.0, INF, 1.0)),
        DistributionCase("refused", (-INF, -INF)),
        DistributionCase("refused", ((0.0, 1.0), (-INF, -INF))),
    ],
}
