"""Checks of `flash_kernel`, in four stages: one tile, the loop, the last tile, the causal skip.

The kernel runs in Triton's interpreter, or on a GPU in a notebook. Where Triton is missing, the
check says so: in a notebook it is only read, and in the grader a person decides.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from labkit.bridge import in_triton
from labkit.bridge.student import Student, StudentError, text_of
from labkit.checks.compare import expect_equal, list_in
from labkit.checks.core import NotJudged, OnlyRead, Wrong, check
from labkit.checks.tensors import expect_tensor, tensor_in
from labkit.checks.wrong import Undecided
from labkit.labs.flash_attention.kernel import launch

HEAD_DIM = 16
RELATIVE, ABSOLUTE = 5e-3, 3e-3  # float16 has steps of 1e-3 at 1
UNLIKELY = 15.2 * math.log(2)  # of 16 such weights, the sum is lost beside 1 in float16
ENDS_OF_ONE = ("skip", "sums", "long")  # kinds of which one program runs
MOST_ROWS = 2**20 // HEAD_DIM  # of a tile: Triton refuses a larger one
N_LONG, TILE_LONG = MOST_ROWS + 512, 512
N_COUNTED = 8  # keys of a long case whose weight is not 0


@dataclass(frozen=True, slots=True)
class KernelCase:
    """One head of N rows in tiles. kind: what is special about it."""

    kind: str
    n_rows: int
    tile_q: int
    tile_kv: int
    is_causal: bool = False
    seed: int = 0

    def __str__(self) -> str:
        words = [f"N = {self.n_rows}, D = {HEAD_DIM}"]
        words.append(f"tiles of {self.tile_q} queries and {self.tile_kv} keys")
        special = {
            "large": "scores of " + ("-125" if self.is_odd else "125"),
            "sums": "many small weights" if self.is_odd else "values of 20,000",
            "skip": "NaN in the tiles that the first program skips",
            "long": "more keys than a tile may hold",
        }
        words += ["causal"] * self.is_causal
        return ", ".join([*words, special[self.kind]] if self.kind in special else words)

    @property
    def is_odd(self) -> bool:
        return self.seed % 2 == 1

    @property
    def n_stored(self) -> int:
        """Rows of O that are looked at."""
        return self.tile_q if self.kind in ENDS_OF_ONE else self.n_rows

    def matrices(self) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K and V (N D) in float16."""
        rng = torch.Generator().manual_seed(self.seed)
        queries, keys, values = torch.randn(3, self.n_rows, HEAD_DIM, generator=rng)
        if self.kind == "large":
            queries[:], keys[:, 0] = 0, (5 + keys[:, 0] / 20) * (-1 if self.is_odd else 1)
            queries[:, 0] = 100
            keys[-1, 0] += 0.2  # the largest score is in the last tile
        if self.kind == "sums":
            queries[:], keys[:] = 0, 0
            values = 20_000 + 2_000 * values
            if self.is_odd:  # the first key has the weight 1, and the value 0
                queries[:, 0], keys[0, 0] = HEAD_DIM**0.5, UNLIKELY
                values[0], values[1:] = 0, 64
        if self.kind == "long":
            counted = torch.randint(self.n_rows, (N_COUNTED,), generator=rng)
            counted[0] = self.n_rows - 1
            queries[:], keys[:] = 0, 0
            queries[:, 0], keys[:, 0], keys[counted, 0] = 100, -5, 0
        return queries.half(), keys.half(), values.half()


def right_output(case: KernelCase) -> Tensor:
    """The rows of the output that are looked at, in float64."""
    queries, *rest = (each.double()[None, None] for each in case.matrices())
    heads = queries[..., : case.n_stored, :], *rest
    return functional.scaled_dot_product_attention(*heads, is_causal=case.is_causal)[0, 0]


def output_of(student: Student, case: KernelCase) -> Tensor:
    """The rows of O that are looked at, as the kernel leaves them; it runs once for all checks.

    Raises: Wrong if the kernel loads or stores outside of its arrays.
    """
    if reason := in_triton.why_not():
        raise _no_verdict(student, reason)
    ends = (StudentError, Wrong)
    return student.once(("flash_kernel", case), lambda: _play(student, case), keep=ends)


def _play(student: Student, case: KernelCase) -> Tensor:
    matrices = case.matrices()
    if case.kind == "skip":  # no query of the first program sees these
        first = math.ceil(case.tile_q / case.tile_kv) * case.tile_kv
        for each in matrices[1:]:
            each[first:] = torch.nan
    n_programs, *given, constants = launch(matrices, case.tile_q, case.tile_kv, case.is_causal)
    n_programs = 1 if case.kind in ENDS_OF_ONE else n_programs
    try:
        asked = "kernel", student.flash_kernel, (n_programs, *given), constants
        after = list_in(student.ask(*asked), "the result", "arrays", 4)
    except StudentError as error:
        if error.is_a("NoTriton"):  # the student's process says so: is it true?
            try:
                in_triton.load()
            except in_triton.NoTriton as reason:
                raise _no_verdict(student, str(reason)) from None
        if error.is_a("NotInAKernel"):
            raise Wrong(
                "your kernel uses NumPy or PyTorch, which no GPU can run in a kernel",
                why="Use the operations of `tl` alone, such as `tl.exp`, `tl.sum` and `tl.dot`.",
            ) from None
        if not error.is_a("OutsideOfArray"):
            raise
        raise Wrong(
            "your kernel loads or stores outside of its arrays",
            why="Give each `tl.load` and `tl.store` a mask for the rows after the last one.",
        ) from None
    output = tensor_in(after[-1], "O").double()
    expect_equal(list(output.shape), list(matrices[0].shape), "the shape of O")
    return output[: case.n_stored]


def _no_verdict(student: Student, reason: str) -> OnlyRead | Undecided:
    """Without Triton: a notebook waits for the grader, and the grader for a person."""
    if text_of(student, "flash_kernel") is None:
        return OnlyRead(f"{reason}. The kernel runs when you hand it in.")
    return Undecided(f"the grader cannot run kernels: {reason}")


def _has_right_output(student: Student, case: KernelCase) -> bool:
    near = {"rtol": RELATIVE, "atol": ABSOLUTE}
    return torch.allclose(output_of(student, case), right_output(case), **near)


def expect_output(student: Student, case: KernelCase) -> None:
    """O is attention's output, within the rounding of float16."""
    if _has_right_output(student, case):
        return
    got, right = output_of(student, case), right_output(case)
    why = " Or: ".join(_sentences(got, right, case))
    expect_tensor(got, right, "O", why=why, tolerance=RELATIVE)


def _expect_after(student: Student, case: KernelCase, *, has_mask: bool = False) -> None:
    """As `expect_output`. Where a plain case is wrong already, that is said, and nothing else."""
    plain = replace(
        case, kind="loop", n_rows=2 * max(case.tile_q, case.tile_kv), is_causal=has_mask, seed=1
    )
    if case.kind == "loop":
        plain = replace(plain, n_rows=16, tile_q=16, tile_kv=16)
    first = "a mask" if has_mask else "one tile" if case.kind == "loop" else "the loop"
    try:
        if _has_right_output(student, case):
            return
    except (Wrong, StudentError):
        if _has_right_output(student, plain):
            raise
    if not _has_right_output(student, plain):
        raise NotJudged(f"first pass the check of {first}")
    expect_output(student, case)


def _sentences(got: Tensor, right: Tensor, case: KernelCase) -> list[str]:
    """The causes that give this output, where they differ from the right one."""
    if case.kind == "sums":
        which = "totals" if case.is_odd else "outputs"
        return [f"The {which} are not summed in float32. float16 ends at 65,504 and has 11 bits."]
    if case.kind == "large":
        return ["Subtract the largest score so far before each exponential."]
    found = []
    for why, slip in SLIPS.items():
        slipped = emulated(case, slip)
        near = {"rtol": RELATIVE, "atol": ABSOLUTE, "equal_nan": True}
        if torch.allclose(got, slipped, **near) and not torch.allclose(right, slipped, **near):
            found.append(why)
    if not found and case.kind == "long":
        found = ["No tile holds so many keys. Go through tiles of TILE_KV keys in a loop."]
    if not found and got.isnan().any():
        row = int(got.isnan().any(-1).nonzero()[0])
        found = [f"Row {row} of O was not stored, or it is NaN: 0 / 0, or -inf - (-inf)."]
    return found


SLIPS = {
    "The old output is not multiplied by exp(m - m_new).": "output",
    "The old total is not multiplied by exp(m - m_new).": "total",
    "The old total and output are not multiplied by exp(m - m_new).": "output total",
    "O is not divided by its total.": "undivided",
    "The scores are not multiplied by `scale`.": "scale",
    "That is the last tile of keys alone. Add it to the state so far.": "last",
    "That is the first tile of keys alone. Go through all of them.": "first",
    "Hidden keys count, with score 0. Give them the score -inf.": "zero",
    "Later keys are not hidden.": "later",
    "A query does not see its own key. Hide keys with key > query only.": "before",
    "A query sees the next key. Hide keys with key > query.": "next",
    "Compare positions in the text, not positions in the tile.": "local",
    "The loop ends before the tile of the queries' own keys.": "short",
}


def emulated(case: KernelCase, slip: str = "") -> Tensor:
    """As `right_output`, by the kernel's loops, with a known mistake."""
    n_rows, tile_q, tile_kv = case.n_rows, case.tile_q, case.tile_kv
    queries, keys, values = (each.double() for each in case.matrices())
    scale = 1 if slip == "scale" else HEAD_DIM**-0.5
    more = (0, 0, 0, -n_rows % tile_kv)
    keys, values = functional.pad(keys, more), functional.pad(values, more)
    found = torch.full_like(queries[: case.n_stored], torch.nan)
    for first in range(0, case.n_stored, tile_q):
        query = torch.arange(first, min(first + tile_q, n_rows))
        stop = min(n_rows, first + tile_q * (slip != "short")) if case.is_causal else n_rows
        maximum = torch.full((len(query), 1), -torch.inf, dtype=torch.float64)
        total = output = torch.zeros_like(maximum)
        for start in range(0, tile_kv if slip == "first" else stop, tile_kv):
            key = torch.arange(start, start + tile_kv)
            is_seen = _seen(query[:, None], key[None, :], case, slip)
            hidden = 0 if slip == "zero" else -torch.inf
            scores = (queries[query] @ keys[key].T * scale).where(is_seen, hidden)
            new_maximum = torch.maximum(maximum, scores.amax(1, keepdim=True))
            factor = (maximum - new_maximum).exp() * (slip != "last")
            weights, maximum = (scores - new_maximum).exp(), new_maximum
            total = (1 if "total" in slip else factor) * total + weights.sum(1, keepdim=True)
            output = (1 if "output" in slip else factor) * output + weights @ values[key]
        found[query] = output if slip == "undivided" else output / total
    return found


def _seen(query: Tensor, key: Tensor, case: KernelCase, slip: str) -> Tensor:
    is_key = key < case.n_rows
    if not case.is_causal or slip == "later":
        return is_key & (query >= 0)
    if slip == "local":
        return is_key & (key % case.tile_kv <= query % case.tile_q)
    return is_key & (key <= query + {"before": -1, "next": 1}.get(slip, 0))


_kernel = partial(check, "flash_kernel")


@_kernel("one", gate=True, hint="Load a tile of Q, K and V, and store softmax(Q Kᵀ · scale) V.")
def one_tile_is_attention(student: Student, case: KernelCase) -> None:
    """With one tile of queries and one of keys, O is attention's output."""
    expect_output(student, case)


@_kernel(
    "loop", "long", gate=True, hint="Multiply total and output by exp(m - m_new) before you add."
)
def the_loop_goes_through_all_keys(student: Student, case: KernelCase) -> None:
    """With several tiles, each program takes all keys into account."""
    _expect_after(student, case)


@_kernel("ragged", hint="Keys after the last row get the score -inf. Mask each load and store.")
def rows_after_the_end_count_nothing(student: Student, case: KernelCase) -> None:
    """O is right if the last tile is not full, and nothing after the last row is touched."""
    _expect_after(student, case)


@_kernel("causal", hint="Compare the position of a key in the text with that of the query.")
def the_kernel_hides_later_keys(student: Student, case: KernelCase) -> None:
    """If IS_CAUSAL, no query sees a key that comes after it."""
    _expect_after(student, case)


@_kernel("skip", hint="End the loop after the last query of the program.")
def the_kernel_skips_hidden_tiles(student: Student, case: KernelCase) -> None:
    """If IS_CAUSAL, a program does not use tiles of which no query sees a key."""
    if not output_of(student, case).isnan().any():
        _expect_after(student, case, has_mask=True)
        return
    plain = replace(case, kind="causal")
    if not _has_right_output(student, plain):
        raise NotJudged("first pass the check of later keys")
    raise Wrong(
        "a tile of K and V enters the output, although no query of the program sees it",
        why="0 times NaN is NaN: do not load the tiles after the program's last query.",
    )


@_kernel("large", hint="Subtract the largest score so far, then take the exponential.")
def the_kernel_takes_large_scores(student: Student, case: KernelCase) -> None:
    """Scores of 125 and of -125 give the right output."""
    _expect_after(student, case)


@_kernel("sums", hint="Begin with tl.zeros(..., tl.float32) for the total and the output.")
def sums_are_float32(student: Student, case: KernelCase) -> None:
    """Totals and outputs are summed in float32."""
    _expect_after(student, case)


OPEN_CASES = {
    "flash_kernel": [
        KernelCase("one", 16, 16, 16, seed=1),
        KernelCase("loop", 64, 16, 32, seed=2),
        KernelCase("loop", 32, 32, 16, seed=3),
        KernelCase("long", N_LONG, 16, TILE_LONG, seed=12),
        KernelCase("ragged", 39, 16, 32, seed=4),
        KernelCase("causal", 64, 16, 32, is_causal=True, seed=5),
        KernelCase("causal", 64, 32, 16, is_causal=True, seed=6),
        KernelCase("skip", 64, 16, 16, is_causal=True, seed=7),
        KernelCase("large", 32, 16, 16, seed=8),
        KernelCase("large", 32, 16, 16, seed=9),
        KernelCase("sums", 64, 16, 16, seed=10),
        KernelCase("sums", 512, 16, 16, seed=11),
    ],
}
