"""The tables of lab 7: the paper's measurement beside our counts, and the back ends."""

from collections.abc import Callable, Iterable, Sequence
from math import ceil

from labkit.labs.flash_attention.backward import (
    flash_1_backward_traffic,
    standard_backward_traffic,
)
from labkit.labs.flash_attention.records import (
    Point,
    Traffic,
    by_back_end,
    exponentials_per_s,
    floors_ms,
    points,
)
from labkit.measuring.bounds import knows_machine, roofline_of
from labkit.measuring.records import NothingMeasured, Record, Row, has_rows
from labkit.measuring.roofline import BYTES, Roofline
from labkit.measuring.tables import Table, Tables, or_sentence
from labkit.models.facts import gpus

GPT2_HEADS, GPT2_ROWS, GPT2_HEAD_DIM = 64 * 16, 1024, 64  # 64 sequences of 16 heads
GPT2_TILES = (256, 384, 512)


def gpt2_table(standard_traffic: Traffic, flash_1_traffic: Traffic) -> Table:
    """What attention of GPT-2 medium moves there and back, as measured by the paper and counted.

    Source of the measurement: FlashAttention (arXiv:2205.14135), figure 2, left.
    """
    sizes = GPT2_ROWS, GPT2_HEAD_DIM
    lines = [["standard, measured by the paper", "", "", "40.3"]]
    back = standard_backward_traffic(*sizes)
    lines.append(["standard, counted", *_gigabytes(standard_traffic(*sizes), back)])
    lines.append(["FlashAttention, measured by the paper", "", "", "4.4"])
    for tile_kv in GPT2_TILES:
        forward = flash_1_traffic(*sizes, tile_kv)
        back = flash_1_backward_traffic(*sizes, tile_kv)
        name = f"FlashAttention, counted, {tile_kv} rows of K in a tile"
        lines.append([name, *_gigabytes(forward, back)])
    title = "GB moved: N = 1,024, D = 64, 16 heads, 64 sequences, 2 bytes a number"
    note = (
        "The paper's standard attention also has a mask and dropout. Both go over N x N numbers "
        "again; our count leaves that out. The tiles of the paper's kernel vary: with 384 rows "
        "our count is close to the measurement."
    )
    return Table(["", "forward", "backward", "both"], lines, title, note, is_folded=True)


def cards_table(
    tile_sizes: Callable[[int, int, int], tuple[int, int]],
    standard: tuple[Traffic, Callable[..., int]],
    flash_1: tuple[Traffic, Callable[..., int]],
    run_times: Callable[[float, float, float, float], tuple[float, float]],
) -> Table:
    """How much faster the first order is than standard attention, on every card of the facts.

    standard, flash_1: traffic and operations of either. Each card has its own shared memory, rates
    and bandwidth; "in turn": computing and moving one after the other, "overlap": at the same time.
    An exponential counts as the operations that the card could do while it computes one.
    """
    headings = ["card", "KiB", "number", "rows of K", "in turn", "overlap"]
    n_rows, head_dim = 4096, 64
    lines = []
    for card, facts in gpus().items():
        kib, sheet = facts["shared_per_block_optin_KB"], Roofline.of(card)
        for dtype in ("float32", "float16"):
            _, tile_kv = tile_sizes(1024 * kib, head_dim, BYTES[dtype])
            more = n_rows**2 * (sheet.peak(dtype) / exponentials_per_s(card) - 1)
            times = [
                run_times(
                    n_flops(n_rows, head_dim, *tile) + more,
                    BYTES[dtype] * sum(traffic(n_rows, head_dim, *tile)),
                    sheet.peak(dtype),
                    sheet.bandwidth,
                )
                for (traffic, n_flops), tile in ((standard, ()), (flash_1, (tile_kv,)))
            ]
            gains = [f"{slow / fast:.2f}" for slow, fast in zip(*times, strict=True)]
            lines.append([card, str(kib), dtype, str(tile_kv), *gains])
    return Table(headings, lines, f"N = {n_rows:,}, D = {head_dim}")


@or_sentence
def back_ends_table(
    record: Record,
    standard_traffic: Traffic | None = None,
    flash_2_traffic: Traffic | None = None,
) -> Tables:
    """Three tables: times and peak memory of every back end, and lower bounds of the times.

    First those of the forward pass without a mask; the same of all other points are folded.
    products: the matrix products alone; exponentials, on a card of the facts. With the two
    functions also the time to move what they count, forward and not causal: all scores, and tiles
    with 128 rows of Q. A kernel that is faster than that has tiles from a cache: many programs load
    the same. The bounds need a known machine.
    """
    every = points(record)
    if not every:
        raise NothingMeasured.of((), "sdpa")
    names = list(dict.fromkeys(name for point in every for name in by_back_end(record, point)))
    where = f"{record.provenance}; 1 sequence of {every[0].n_heads} heads"
    groups: dict[bool, list[Point]] = {False: [], True: []}
    for point in every:
        groups[point.is_causal or point.has_back].append(point)
    found = []
    for is_other, of_group in groups.items():
        lines = _lines(record, of_group, names, standard_traffic, flash_2_traffic)
        words = "with a mask or the backward pass" if is_other else where
        for title, (columns, rows) in lines.items():
            if rows and columns:
                headings = ["", "N", *columns]
                found.append(Table(headings, rows, f"{title}: {words}", is_folded=is_other))
    return Tables(found)


def parts_table(decode_traffic: Traffic, n_tokens: int = 8192) -> Table:
    """What a cache in parts gives an H200 to do, and what it moves, by the number of parts.

    One new token of a model with 32 heads, 8 KV heads and 128 numbers a head, in one layer.
    """
    n_sms, n_kv_heads, group_size, head_dim = gpus()["H200-SXM"]["sms"], 8, 4, 128
    once = sum(decode_traffic(n_tokens, head_dim, group_size, 1))
    rows = []
    for n_parts in (1, 4, 8, 16, 32):
        n_programs = n_parts * n_kv_heads
        n_keys = ceil(n_programs / n_sms) * ceil(n_tokens / n_parts)
        moved = sum(decode_traffic(n_tokens, head_dim, group_size, n_parts))
        more = f"{100 * (moved / once - 1):.1f} %"
        rows.append([n_parts, n_programs, min(n_programs, n_sms), n_keys, moved * n_kv_heads, more])
    headings = ["parts", "programs", "of 132 at work", "keys in turn", "numbers moved", "more"]
    title = f"{n_tokens:,} tokens, 8 KV heads, 32 heads, D = 128, on an H200"
    note = "Keys in turn: those that one multiprocessor goes through, one after the other."
    return Table(headings, rows, title, note)


@or_sentence
def decode_table(record: Record) -> Table:
    """Microseconds of a layer's attention for one new token, by the tokens in the cache.

    A column for PyTorch and for each number of parts of the engine's kernel, where it ran. Cache
    moved: the time to read keys and values once, at the machine's measured bandwidth.
    """
    rows: dict[int, dict[str, Row]] = {}
    for row in record.of("decode_split"):
        rows.setdefault(row.n_input, {})[row.setting or row.model] = row
    if not has_rows(record, "decode_split"):
        raise NothingMeasured.of(record.of("decode_split"), "decode_split")
    names = list(dict.fromkeys(name for line in rows.values() for name in line))
    lines = []
    for n_tokens, line in sorted(rows.items()):
        times = [_microseconds(line.get(name)) for name in names]
        lines.append([f"{n_tokens:,}", _cache_moved(record, line.values()), *times])
    return Table(["tokens", "cache moved", *names], lines, f"µs a layer: {record.provenance}")


def _cache_moved(record: Record, rows: Iterable[Row]) -> str:
    known = [row.counts["cache_bytes"] for row in rows if "cache_bytes" in row.counts]
    if not (known and knows_machine(record)):
        return "-"
    return _in_microseconds(known[0] / roofline_of(record).bandwidth)


def _microseconds(row: Row | None) -> str:
    if row is None:
        return "-"
    return row.outcome if row.time_s is None else _in_microseconds(row.time_s)


def _in_microseconds(time_s: float) -> str:
    return f"{1e6 * time_s:,.{0 if time_s >= 1e-4 else 1}f}"


def _lines(
    record: Record, every: Sequence[Point], names: Sequence[str], *counts: Traffic | None
) -> dict[str, tuple[list[str], list[list[str]]]]:
    """Columns and rows of the three tables, by title."""
    times, peaks, least = [], [], []
    floors = list(floors_ms(record, every[0], 1, *counts)) if every else []
    for point in every:
        rows = by_back_end(record, point)
        for n_rows in dict.fromkeys(n for found in rows.values() for n in found):
            line = [rows.get(name, {}).get(n_rows) for name in names]
            place = [point.label, f"{n_rows:,}"]
            known = floors_ms(record, point, n_rows, *counts)
            times.append([*place, *map(_milliseconds, line)])
            peaks.append([*place, *map(_megabytes, line)])
            least.append([*place, *(f"{known[n]:.3g}" for n in floors)])
    return {
        "Time in ms": (list(names), times),
        "Peak memory in MB": (list(names), peaks),
        "Lower bounds of the time in ms": (floors, least),
    }


def _gigabytes(forward: tuple[int, int], back: tuple[int, int]) -> list[str]:
    both = [2 * GPT2_HEADS * sum(traffic) / 1e9 for traffic in (forward, back)]
    return [f"{n:.2f}" for n in (*both, sum(both))]


def _milliseconds(row: Row | None) -> str:
    if row is None:
        return "-"
    return row.outcome if row.time_s is None else f"{1e3 * row.time_s:.3g}"


def _megabytes(row: Row | None) -> str:
    if row is None or row.peak_bytes is None:
        return "-"
    return f"{row.peak_bytes / 1e6:,.{0 if row.peak_bytes >= 1e9 else 1}f}"
