"""Drawing and accepting in Triton: one kernel for a token, two for a block of drafted ones.

In PyTorch a block's verdict passes over rows of a hundred thousand logits a dozen times. Here many
programs share each row. To accept, the first kernel sums up the exponentials, part by part. The
second puts the parts together and tests the drafted tokens, which is so little that every program
does it; then each lets a few of the tokens that are left race, and the program that ends last
compares the winners. Nothing waits for the host, so both can be captured.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from labkit.engine.sampling import exponential, split_noise
from labkit.engine.weights import DecoderShape

SUM_BLOCK, RACE_BLOCK = 8192, 1024  # logits for one program: what was fastest on an H200
N_WARPS = 4


@triton.jit
def _logits(logits_ptr, place, known):
    return tl.load(logits_ptr + place, mask=known, other=float("-inf")).to(tl.float32)


@triton.jit
def _sum_up(target_ptr, draft_ptr, sums_ptr, n_drafted, n_tokens, BLOCK: tl.constexpr):
    """Logarithms of sums of exponentials, of parts of the target's rows and then the draft's."""
    part, row = tl.program_id(0), tl.program_id(1)
    place = part * BLOCK + tl.arange(0, BLOCK)
    known = place < n_tokens
    if row <= n_drafted:
        logits = _logits(target_ptr, row * n_tokens + place, known)
    else:
        logits = _logits(draft_ptr, (row - n_drafted - 1) * n_tokens + place, known)
    top = tl.max(logits, axis=0)
    safe = tl.where(top == float("-inf"), 0.0, top)
    total = safe + tl.log(tl.sum(tl.exp(logits - safe), axis=0))
    tl.store(sums_ptr + row * tl.num_programs(0) + part, total)


@triton.jit
def _log_sums(sums_ptr, row, n_rows, n_parts, PARTS: tl.constexpr):
    part = tl.arange(0, PARTS)
    known = (row < n_rows)[:, None] & (part < n_parts)[None, :]
    place = row[:, None] * n_parts + part[None, :]
    sums = tl.load(sums_ptr + place, mask=known, other=float("-inf"))
    top = tl.max(sums, axis=1)
    safe = tl.where(top == float("-inf"), 0.0, top)
    return safe + tl.log(tl.sum(tl.exp(sums - safe[:, None]), axis=1))


@triton.jit
def _winner(scores_ptr, tokens_ptr, n_programs, PROGRAMS: tl.constexpr):
    """The best score of all programs, and its token."""
    program = tl.arange(0, PROGRAMS)
    known = program < n_programs
    scores = tl.load(scores_ptr + program, mask=known, other=float("-inf"), cache_modifier=".cg")
    tokens = tl.load(tokens_ptr + program, mask=known, other=0, cache_modifier=".cg")
    best, at = tl.max(scores, axis=0, return_indices=True)
    return best, tl.sum(tl.where(program == at, tokens, 0), axis=0)


@triton.jit
def _race(
    target_ptr, draft_ptr, drafted_ptr, coins_ptr, noise_ptr, sums_ptr, scores_ptr, tokens_ptr,
    done_ptr, kept_ptr, after_ptr, n_drafted, n_tokens, n_parts, IS_SETTLED: tl.constexpr,
    ROWS: tl.constexpr, PARTS: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    program, n_programs = tl.program_id(0), tl.num_programs(0)
    place = program * BLOCK + tl.arange(0, BLOCK)
    known = place < n_tokens
    noise = tl.log(tl.load(noise_ptr + place, mask=known, other=1.0))
    row = tl.arange(0, ROWS)
    is_drafted = row < n_drafted
    target_sums = _log_sums(sums_ptr, row, n_drafted + 1, n_parts, PARTS)
    draft_sums = _log_sums(sums_ptr + (n_drafted + 1) * n_parts, row, n_drafted, n_parts, PARTS)
    if IS_SETTLED:
        n_kept = tl.load(kept_ptr).to(tl.int32)
    else:
        token = tl.load(drafted_ptr + row, mask=is_drafted, other=-1)
        is_token = token >= 0  # -1 is what a broken draft gives: it is not kept
        wanted = _logits(target_ptr, row * n_tokens + token, is_token) - target_sums
        had = _logits(draft_ptr, row * n_tokens + token, is_token) - draft_sums
        stays = tl.load(coins_ptr + row, mask=is_drafted, other=0.0) > had - wanted
        n_kept = tl.min(tl.where(stays, n_drafted, row), axis=0)

    target = _logits(target_ptr, n_kept * n_tokens + place, known)
    draft = _logits(draft_ptr, n_kept * n_tokens + place, known & (n_kept < n_drafted))
    is_next = row == n_kept
    target = tl.exp(target - tl.sum(tl.where(is_next, target_sums, 0.0), axis=0))
    draft = tl.exp(draft - tl.sum(tl.where(is_next & is_drafted, draft_sums, 0.0), axis=0))
    beyond = target - draft
    left = tl.where(beyond > 0, tl.log(beyond) - noise, float("-inf"))
    whole = tl.where(target > 0, tl.log(target) - noise, float("-inf"))
    best, at = tl.max(left, axis=0, return_indices=True)
    best_of_whole, at_whole = tl.max(whole, axis=0, return_indices=True)
    tl.store(scores_ptr + program, best)
    tl.store(tokens_ptr + program, program * BLOCK + at)
    tl.store(scores_ptr + n_programs + program, best_of_whole)
    tl.store(tokens_ptr + n_programs + program, program * BLOCK + at_whole)

    tl.debug_barrier()
    if tl.atomic_add(done_ptr, 1, sem="acq_rel") == n_programs - 1:
        best, after = _winner(scores_ptr, tokens_ptr, n_programs, PROGRAMS)
        best_of_whole, after_whole = _winner(
            scores_ptr + n_programs, tokens_ptr + n_programs, n_programs, PROGRAMS
        )
        after_whole = tl.where(best_of_whole == float("-inf"), -1, after_whole)
        after = tl.where(best == float("-inf"), after_whole, after)
        tl.store(after_ptr, after.to(tl.int64))
        if not IS_SETTLED:
            tl.store(kept_ptr, n_kept.to(tl.int64))
        tl.store(done_ptr, 0)


@triton.jit
def _draw(
    logits_ptr, noise_ptr, scores_ptr, tokens_ptr, done_ptr, out_ptr, n_tokens,
    PROGRAMS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    program, row, n_programs = tl.program_id(0), tl.program_id(1), tl.num_programs(0)
    place = program * BLOCK + tl.arange(0, BLOCK)
    known = place < n_tokens
    spot = row.to(tl.int64) * n_tokens + place
    scores = _logits(logits_ptr, spot, known) - tl.log(
        tl.load(noise_ptr + spot, mask=known, other=1.0)
    )
    scores = tl.where(scores == scores, scores, float("inf"))  # not a number: no draw at all
    best, at = tl.max(scores, axis=0, return_indices=True)
    tl.store(scores_ptr + row * n_programs + program, best)
    tl.store(tokens_ptr + row * n_programs + program, program * BLOCK + at)
    tl.debug_barrier()
    if tl.atomic_add(done_ptr + row, 1, sem="acq_rel") == n_programs - 1:
        first = row * n_programs
        best, token = _winner(scores_ptr + first, tokens_ptr + first, n_programs, PROGRAMS)
        token = tl.where(tl.abs(best) == float("inf"), -1, token)
        tl.store(out_ptr + row, token.to(tl.int64))
        tl.store(done_ptr + row, 0)


class _Scratch:
    """What programs that share rows need: a place for each one's winner, and how many are done."""

    def __init__(self, n_rows: int, vocab_size: int, device: torch.device) -> None:
        self.n_rows, self.vocab_size = n_rows, vocab_size
        self.n_programs = triton.cdiv(vocab_size, RACE_BLOCK)
        n_winners = n_rows * self.n_programs
        self.scores = torch.empty(n_winners, dtype=torch.float32, device=device)
        self.tokens = torch.empty(n_winners, dtype=torch.int32, device=device)
        self.done = torch.zeros(n_rows, dtype=torch.int32, device=device)

    def plan(self) -> dict[str, int]:
        """The constants of a compiled kernel."""
        n_places = triton.next_power_of_2(self.n_programs)
        return {"PROGRAMS": n_places, "BLOCK": RACE_BLOCK, "num_warps": N_WARPS}

    def check(self, logits: Tensor) -> None:
        """Raises: ValueError for rows of another vocabulary."""
        if logits.shape[-1] != self.vocab_size:
            raise ValueError(
                f"these kernels are for {self.vocab_size:,} tokens, got logits of "
                f"{logits.shape[-1]:,}"
            )


class Draw:
    """As `labkit.engine.sampling.draw`, for logits (n_sequences V)."""

    def __init__(self, shape: DecoderShape, n_sequences: int, device: torch.device) -> None:
        self._race = _Scratch(n_sequences, shape.vocab_size, device)

    def __call__(self, logits: Tensor, noise: Tensor | None = None) -> Tensor:
        race = self._race
        race.check(logits)
        rows = logits.reshape(-1, race.vocab_size).contiguous()
        if len(rows) > race.n_rows:
            raise ValueError(f"wanted at most {race.n_rows} rows of logits, got {len(rows)}")
        if noise is None:
            noise = exponential(rows.shape, rows.device)
        out = torch.empty(logits.shape[:-1], dtype=torch.long, device=logits.device)
        _draw[(race.n_programs, len(rows))](
            rows, noise, race.scores, race.tokens, race.done, out, race.vocab_size, **race.plan()
        )
        return out


class Accept:
    """As `labkit.engine.sampling.accept`."""

    def __init__(self, shape: DecoderShape, n_sequences: int, device: torch.device) -> None:
        # two rows: what the target has beyond the draft, and all that it has
        self._race = _Scratch(2, shape.vocab_size, device)

    def __call__(
        self,
        drafted: Tensor,
        draft_logits: Tensor,
        target_logits: Tensor,
        noise: Tensor | None = None,
        n_kept: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        race, n_drafted = self._race, len(drafted)
        race.check(draft_logits)
        race.check(target_logits)
        noise, coins = split_noise(noise, draft_logits)
        draft_logits, target_logits = draft_logits.contiguous(), target_logits.contiguous()
        n_parts = triton.cdiv(race.vocab_size, SUM_BLOCK)
        sums = torch.empty(2 * n_drafted + 1, n_parts, dtype=torch.float32, device=coins.device)
        sizes = (n_drafted, race.vocab_size)
        _sum_up[(n_parts, len(sums))](
            target_logits, draft_logits, sums, *sizes, BLOCK=SUM_BLOCK, num_warps=2 * N_WARPS
        )
        is_settled = n_kept is not None
        after = torch.empty(1, dtype=torch.long, device=coins.device)
        n_kept = n_kept if is_settled else torch.empty_like(after)
        _race[(race.n_programs,)](
            target_logits, draft_logits, drafted, coins, noise, sums, race.scores, race.tokens,
            race.done, n_kept, after, *sizes, n_parts, IS_SETTLED=is_settled,
            ROWS=triton.next_power_of_2(n_drafted + 1), PARTS=triton.next_power_of_2(n_parts),
            **race.plan(),
        )  # fmt: skip
        return n_kept, after
