"""What several rows say together that none of them can say alone: rules for whole sweeps.

Rows of a series differ in one size only: new tokens, tokens in, or the batch. More work cannot take
less time. Where a rule is broken, a row is wrong, or was measured while the machine was disturbed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import linear_regression

from labkit.measuring.records import Row
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor

NOISE = 0.8  # a run with more work may come out this much faster before we doubt it
WANDER = 0.05  # of the shorter run's time: by so much its steps may be slower than the longer's
SLOW_PREFILL = 2.0  # steps that the prefill of a short prompt takes at most
FEW_LENGTHS = 5  # a line through fewer says little
# Of the longest time: steps grow with the cache, so an honest line may begin a little below zero.
BEND = 0.01
LENGTHS = {"n_new": "new tokens", "n_input": "prompt tokens"}


def implausible_series(rows: Iterable[Row]) -> list[str]:
    """Where more work took less time, and where a line through the times begins below zero."""
    rows = [row for row in rows if row.samples_s and row.n_new]
    found = []
    for length in LENGTHS:
        for group in _groups(rows, length):
            found += _less_for_more(group, length)
    for group in _groups(rows, "batch_size", "n_new"):
        found += _more_than_their_share(group)
    for group in _groups(rows, "n_new"):
        found += _no_prefill(group)
    return found


def too_short_for_the_prompt(
    rows: Iterable[Row], work: ModelWork, machine: Roofline, dtype: str
) -> list[str]:
    """Rows whose longer prompt adds less time than computing it takes at least.

    machine: the upper limits of its kind. Rows of a series make equally many new tokens, and a
    step with a longer cache is no faster. So a longer prompt adds the time of its own prefill, less
    that of the shorter prompt, which takes about a step where reading the weights limits it.
    """
    found, rows = [], [row for row in rows if row.use_cache and row.samples_s and row.n_new]
    for group in _groups(rows, "n_input"):
        floors = [
            pass_floor(machine, work, max(1, row.n_input), 0, row.batch_size, dtype)
            for row in group
        ]
        short = [row for row, floor in zip(group, floors, strict=True) if floor.limit == "memory"]
        if not short:
            continue
        base = min(short, key=lambda row: min(row.samples_s))
        base_s = min(base.samples_s)
        for row, floor in zip(group, floors, strict=True):
            least_s = floor.computing_s - SLOW_PREFILL * base_s / row.n_new
            extra_s = max(row.samples_s) - base_s
            if row.n_input > base.n_input and least_s > extra_s + WANDER * base_s:
                found.append(
                    f"{row}: {row.n_input:,} tokens in took {extra_s:.3g} s more than "
                    f"{base.n_input:,}, and computing them takes {floor.computing_s:.3g} s at "
                    f"least on {machine.name}."
                )
    return found


def _less_for_more(group: list[Row], length: str) -> Iterator[str]:
    """Each run is held against all shorter ones: times may fall little by little.

    Only a clear case counts, where every sample of the longer run is faster by a fifth than every
    one of the shorter.
    """
    for i, longer in enumerate(group):
        most_s = max(longer.samples_s)
        slower = [row for row in group[:i] if most_s < NOISE * min(row.samples_s)]
        if slower:
            shorter = max(slower, key=lambda row: row.time_s)
            yield (
                f"{longer}: {getattr(longer, length)} {LENGTHS[length]} in {longer.time_s:.3g} s "
                f"cannot take less than {getattr(shorter, length)} in {shorter.time_s:.3g} s, all "
                "else equal."
            )


def _more_than_their_share(group: list[Row]) -> Iterator[str]:
    """Tokens per second grow with the batch at most as the batch does.

    A run of more tokens spreads its prefill over more of them: it is no measure for one of fewer.
    """
    for i, larger in enumerate(group):
        most_s = max(larger.samples_s) / larger.n_new
        for smaller in group[:i]:
            is_slower = most_s < NOISE * min(smaller.samples_s) / smaller.n_new
            if is_slower and larger.n_new <= smaller.n_new:
                yield (
                    f"{larger}: {larger.tokens_per_s:.4g} tokens/s for a batch of "
                    f"{larger.batch_size} are more than {larger.batch_size / smaller.batch_size:g} "
                    f"times the {smaller.tokens_per_s:.4g} tokens/s for {smaller.batch_size}."
                )
                break


def _no_prefill(group: list[Row]) -> Iterator[str]:
    """The line through times by new tokens begins with the prefill, which takes some time."""
    if len(group) < FEW_LENGTHS or not group[0].use_cache:
        return
    step_s, prefill_s = linear_regression(
        [row.n_new - 1 for row in group], [row.time_s for row in group]
    )
    if prefill_s < -BEND * group[-1].time_s:
        yield (
            f"{group[-1]}: with it, the line through {len(group)} lengths gives a prefill of "
            f"{1e3 * prefill_s:.1f} ms and steps of {1e3 * step_s:.4g} ms, and no prefill takes "
            "less than no time."
        )


def _groups(rows: Iterable[Row], *sizes: str) -> Iterator[list[Row]]:
    """Rows that differ in these sizes only, each group in the order of them."""
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(replace(row, **dict.fromkeys(sizes, 1)).key, []).append(row)
    for group in found.values():
        yield sorted(group, key=lambda row: [getattr(row, size) for size in sizes])
