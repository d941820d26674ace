"""Checks of `verify_batch`: each row gets the result that `verify` alone gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Student
from labkit.checks.core import Wrong, check
from labkit.checks.forms import pair_in
from labkit.checks.law import Outcome, gathered
from labkit.checks.tensors import expect_unchanged, tensor_in
from labkit.labs.speculative.checks.blocks import (
    ONE,
    PLAIN,
    TWO,
    VerifyCase,
    law_of_row,
    row_slips,
)
from labkit.labs.speculative.checks.calling import (
    N_RUNS,
    PlayedCase,
    call,
    look_after_call,
    whole_in,
)
from labkit.labs.speculative.checks.law import Claim, Weights, independent

N_COPIES = 4  # of each row, where a generator is to decide about all


@dataclass(frozen=True, slots=True)
class BatchCase(PlayedCase):
    """Blocks of several rows. Behind the shorter ones stand tokens and probabilities of no row."""

    function = "verify_batch"
    names = ("drafted", "n_drafted", "draft_probs", "target_probs")
    rows: tuple[VerifyCase, ...]

    def __str__(self) -> str:
        return f"rows with {', '.join(str(row.k) for row in self.rows)} drafted tokens"

    @property
    def vocab_size(self) -> int:
        """V, the same in all rows."""
        return self.rows[0].vocab_size

    @property
    def k(self) -> int:
        """Drafted tokens of the longest row."""
        return max(row.k for row in self.rows)

    @property
    def is_ragged(self) -> bool:
        """Whether some rows have fewer drafted tokens than there is room for, or none."""
        return any(row.k < self.k for row in self.rows) or self.k == 0

    def given(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The arguments of `verify_batch`; tokens after a row's drafts have an accepted ratio."""
        shape = len(self.rows), self.k + 1, self.vocab_size
        drafted = torch.ones(len(self.rows), self.k, dtype=torch.long)
        probs = torch.full((2, *shape), 1 / self.vocab_size).double()
        for row, drafted_row, draft, target in zip(self.rows, drafted, *probs, strict=True):
            drafted_row[: row.k] = torch.tensor(row.drafted, dtype=torch.long)
            _, draft[: row.k], target[: row.k + 1] = row.given()
        n_drafted = torch.tensor([row.k for row in self.rows])
        return drafted, n_drafted, probs[0, :, :-1].clone(), probs[1].clone()

    def outcome_in(self, got: Any) -> Outcome:
        """Kept tokens and the next one, row after row. Raises Wrong for anything else."""
        parts = pair_in(got, "the result of `verify_batch`")
        limits = {"a number of tokens kept": self.k, "a token after them": self.vocab_size - 1}
        columns = []
        for part, (what, most) in zip(parts, limits.items(), strict=True):
            column = tensor_in(part, what).flatten().tolist()
            if len(column) != len(self.rows):
                wanted, found = f"{len(self.rows)} numbers", f"{len(column)}"
                raise Wrong(f"{what}, for each row", expected=wanted, got=found)
            columns.append([whole_in(value, what, most) for value in column])
        return tuple(chain.from_iterable(zip(*columns, strict=True)))


def part_of_row(i: int) -> Callable[[Outcome], Outcome]:
    """What an outcome says about one row."""
    return lambda outcome: outcome[2 * i : 2 * i + 2]


def row_claim(
    case: BatchCase, i: int, law: Weights, slips: Mapping[str, Weights] | None = None, why: str = ""
) -> Claim:
    """That a row has this distribution."""
    k = case.rows[i].k
    what = f"the probability that row {i} keeps {{}} of {k}, and token {{}} follows"
    return Claim(what, law, slips or {}, why)


_batch = partial(check, "verify_batch", gate=True, parts=("residual", "verify"))


@_batch(
    hint="Compare one row with `verify`: how many it keeps, then the row of the next token.",
    applies_to=lambda case: not case.is_ragged,
)
def each_row_has_the_law_that_it_has_alone(student: Student, case: BatchCase) -> None:
    """In a batch of equal blocks, each row has the distribution that it has alone."""
    found = case.found(student)
    for i, row in enumerate(case.rows):
        right, slips = law_of_row(row.n_kept_law, row.after), row_slips(row, case.rows[0])
        row_claim(case, i, right, slips).expect(found.of(part_of_row(i)))


@_batch(
    hint="Give `torch.rand` the shape (B, k).",
    applies_to=lambda case: not case.is_ragged and len(case.rows) > 1,
)
def rows_do_not_share_their_luck(student: Student, case: BatchCase) -> None:
    """Rows are independent: each has random numbers of its own."""
    found = case.found(student)
    alone = [found.of(part_of_row(i)) for i in range(len(case.rows))]
    if any(len(law) < 2 for law in alone):
        raise Wrong(
            "the result of a row", expected="different ones, by chance", got="always the same"
        )
    what = "the probability of " + ", ".join(
        f"{{}} kept and then token {{}} in row {i}" for i in range(len(alone))
    )
    try:
        Claim(what, independent(alone)).expect(found.probabilities)
    except Wrong as wrong:
        kept = [gathered(law, itemgetter(slice(1))) for law in alone]
        why = "The numbers kept are independent, but not the next tokens. Draw one for each row."
        try:
            Claim("", independent(kept)).expect(found.of(itemgetter(slice(0, None, 2))))
        except Wrong:
            why = "The numbers kept depend on each other."
        raise Wrong(wrong.what, expected=wrong.expected, got=wrong.got, why=why) from None


@_batch(
    hint="Set draft_probs to 0 from n_drafted on: the residual is then the target.",
    applies_to=lambda case: case.is_ragged,
)
def a_row_ends_where_its_draft_ends(student: Student, case: BatchCase) -> None:
    """A row may have fewer than k drafted tokens; the entries after them are ignored."""
    found = case.found(student)
    for i, row in enumerate(case.rows):
        right = law_of_row(row.n_kept_law, row.after)
        if row.k:  # whatever that is: another check looks at it
            right = BatchCase((row,)).found(student).probabilities
        got = found.of(part_of_row(i))
        is_more = any(n > row.k for n, _ in got)
        why = "More tokens are kept than were drafted." if is_more else ""
        row_claim(case, i, right, why=why).expect(got)


@_batch(
    weight=0.5,
    hint="Return int64, and turn (B, 1) into (B,) with `[:, 0]`.",
    applies_to=lambda case: case.k > 0,
    gate=False,
)
def the_answer_is_one_whole_number_per_row(student: Student, case: BatchCase) -> None:
    """Both results are tensors of whole numbers, of shape (B,)."""
    got = call(student, "verify_batch", *case.given(), None)
    case.outcome_in(got)
    for part, what in zip(got, ("how many are kept", "the tokens after them"), strict=True):
        tensor = tensor_in(part, what)
        if tensor.shape != (len(case.rows),):
            wanted, found = f"({len(case.rows)},)", str(tuple(tensor.shape))
            raise Wrong(f"the shape of {what}", expected=wanted, got=found)
        if tensor.dtype is not torch.int64:
            raise Wrong(f"the dtype of {what}", expected="int64", got=str(tensor.dtype))


@_batch(
    weight=0.5,
    hint="Work on copies: `clone()`, or `where` in place of assignments.",
    applies_to=lambda case: case.k > 0,
)
def the_batch_stays_as_it_is(student: Student, case: BatchCase) -> None:
    """The call changes none of its arguments."""
    result, after = look_after_call(student, "verify_batch", *case.given(), None)
    case.outcome_in(result)
    for got, tensor, name in zip(after, case.given(), case.names, strict=False):
        expect_unchanged(got, tensor, f"{name} after the call")


@_batch(
    weight=0.5,
    hint="Pass `generator=rng` to `torch.rand` and `torch.multinomial`.",
    applies_to=lambda case: case.k > 1 and len(case.rows) > 1,
    gate=False,
    parts=(),
)
def rng_decides_about_all_rows(student: Student, case: BatchCase) -> None:
    """The same state of `rng` gives the same result, and another state another result."""
    wide = BatchCase(case.rows * N_COPIES)  # as much is drawn in fewer calls
    what = "the numbers kept and the tokens after them"
    wide.expect_rng_decides(student, what, N_RUNS // N_COPIES)


OPEN_CASES = {
    "verify_batch": [
        BatchCase((TWO, TWO)),
        BatchCase((TWO.alone(1), TWO.alone(0))),
        BatchCase((ONE,)),
        BatchCase((TWO.alone(0), TWO)),
        BatchCase((ONE, PLAIN)),
        BatchCase((PLAIN, PLAIN)),
    ]
}
