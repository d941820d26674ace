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
from labkit.models.sampling import keep_top

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
            why = self.cause(student)
        expect_tensor(got, expected, "the probabilities", why=why, tolerance=tolerance)
        return got

    def cause(self, student: Student) -> str:
        """The sentences of the slips that give what the student gives, here and in open cases."""
        expected = torch.tensor(self.expected, dtype=torch.float64)
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

    def cut(self, *names: str, over: float | None = None) -> Tensor:
        """The probabilities at another temperature, cut by these settings only, in this order."""
        probs = (self.tensor().double() / (self.temperature if over is None else over)).softmax(-1)
        for name in names:
            probs = keep_top(probs, **{name: getattr(self, name)})
        return probs


SLIPS = {  # what known mistakes give, by what is said of them
    "Divide the logits by the temperature before the softmax.": (
        lambda case: case.cut("top_k", "top_p", over=1)
    ),
    "The logits are multiplied by the temperature. Divide them by it.": (
        lambda case: case.cut("top_k", "top_p", over=1 / case.temperature)
    ),
    "The temperature divides the logits, not the probabilities.": (
        lambda case: case.cut(over=1) / case.temperature
    ),
    "Apply top_k and top_p, too: `keep_top(probs, top_k, top_p)`.": lambda case: case.cut(),
    "Pass top_k as it is: one token too many is kept.": (
        lambda case: keep_top(case.cut(), case.top_k and case.top_k + 1, case.top_p)
    ),
    "The kept probabilities have to sum to 1 again. `keep_top` divides them by their sum.": (
        lambda case: case.cut().where(case.cut("top_k", "top_p") > 0, 0)
    ),
    "Pass top_k on, too.": lambda case: case.cut("top_p"),
    "Pass top_p on, too.": lambda case: case.cut("top_k"),
    "Apply top-k first, and top-p to its result.": lambda case: case.cut("top_p", "top_k"),
    "The temperature comes last here. Divide the logits by it first.": (
        lambda case: (case.cut("top_k", "top_p", over=1).log() / case.temperature).softmax(-1)
    ),
    "`exp` gives infinity here. Use `torch.softmax`, or subtract the largest logit first.": (
        lambda case: (
            case.powers() / case.powers().sum(-1, keepdim=True)
            if case.powers().isinf().any()
            else torch.full_like(case.powers(), -1)
        )
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


@_probs(
    "cut",
    weight=2,
    hint="Return `keep_top(probs, top_k, top_p)`, of the probabilities after the temperature.",
)
def top_k_and_top_p_follow_the_temperature(student: Student, case: DistributionCase) -> None:
    """Top-k, then top-p, cut what the temperature gives, and what is kept sums to 1."""
    whole = case.ask(student, top_k=None, top_p=None)  # another check asks whether that is right
    expected = keep_top(whole.double(), case.top_k, case.top_p)
    expect_tensor(case.ask(student), expected, "the probabilities", why=case.cause(student))


@_probs("ties", weight=0.5, hint="`argmax` gives the first of the largest logits.")
def of_equal_logits_the_first_is_certain(student: Student, case: DistributionCase) -> None:
    """At temperature 0, the first of several largest logits has probability 1."""
    kept = case.ask(student).nonzero().flatten().tolist()
    wanted = [token for token, share in enumerate(case.expected) if share > 0]
    why = "Of equal logits, take the one with the smallest index."
    expect_equal(kept, wanted, "the tokens above 0", why=why)


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
    "cut",
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
        DistributionCase("cut", logs(1, 4, 3, 2), (0, *shares(4, 3), 0), top_k=2),
        DistributionCase("cut", logs(2, 5, 3), (0, *shares(5, 3)), top_p=0.7),
        DistributionCase("cut", logs(4, 3, 2, 1), shares(4, 3, 0, 0), top_k=3, top_p=0.75),
        DistributionCase("cut", logs(3, 4, 2), (0, 1, 0), temperature=0.5, top_p=0.5),
        DistributionCase("cut", logs(1, 3, 2), shares(0, 9, 4), temperature=0.5, top_k=2),
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
