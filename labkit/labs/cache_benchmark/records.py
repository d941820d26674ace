"""Reading lab 3's rows from a record: curves, launch times, and predictions for them."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from labkit.measuring.bounds import knows_machine, roofline_of
from labkit.measuring.records import Record, Row
from labkit.measuring.roofline import ModelWork, Roofline


def curve(record: Record, setting: str, use_cache: bool) -> tuple[list[int], list[float]]:
    """Lengths and median times of one curve of `cache_or_not`, shortest first.

    Raises: ValueError for a setting that the record does not have.
    """
    rows = curve_rows(record, setting, use_cache)
    return [row.n_new for row in rows], [row.time_s for row in rows]


def curve_rows(record: Record, setting: str, use_cache: bool) -> list[Row]:
    """The rows of a curve that have a time, shortest first.

    Raises: ValueError for a setting that the record does not have.
    """
    if setting not in settings_of(record):
        raise ValueError(f"the record has no rows of the setting {setting!r}")
    ran = (row for row in record.of("cache_or_not") if row.time_s is not None)
    chosen = [row for row in ran if (row.setting, row.use_cache) == (setting, use_cache)]
    return sorted(chosen, key=lambda row: row.n_new)


def launch_s(record: Record, setting: str) -> float:
    """Median seconds of a pass over one token: what launching takes where a GPU waits for it.

    Raises: ValueError for a setting that the record does not have.
    """
    if (row := _one_token_row(record, setting)) is None:
        raise ValueError(f"the record has no pass over one token of the setting {setting!r}")
    return row.time_s


def _one_token_row(record: Record, setting: str) -> Row | None:
    rows = [*record.of("one_token_pass"), *record.of("pass_by_length")]
    ran = (row for row in rows if row.setting == setting and row.n_input == 1 and row.is_ok)
    return next(ran, None)


def machine_and_launch(record: Record, setting: str) -> tuple[Roofline, ModelWork, float] | None:
    """A record's machine, a setting's model and its launch time; None if one is not known."""
    row = _one_token_row(record, setting)
    if row is None or not knows_machine(record):
        return None
    return roofline_of(record), ModelWork.of(row.model), launch_s(record, setting)


def settings_of(record: Record) -> list[str]:
    """The settings of `cache_or_not` that the record has, in the order of measurement."""
    return list(dict.fromkeys(row.setting for row in record.of("cache_or_not")))


def predicted_curve(
    record: Record, setting: str, use_cache: bool, predicted_time_s: Callable[..., float]
) -> tuple[list[int], list[float]]:
    """Lengths, and the seconds predicted for them on the record's machine; none if it is unknown.

    predicted_time_s(machine, work, n_prompt, n_new, use_cache, launch_s, dtype) is called with the
    measured roofline and, as the launch time, with the measured pass over one token.
    """
    n_prompt, dtype = first_row(record, setting).n_input, record.provenance.dtype
    lengths, _ = curve(record, setting, use_cache)
    if not lengths or (found := machine_and_launch(record, setting)) is None:
        return [], []
    machine, work, launch = found
    predicted = [
        predicted_time_s(machine, work, n_prompt, n_new, use_cache, launch, dtype)
        for n_new in lengths
    ]
    return lengths, predicted


def passes(record: Record) -> list[tuple[float, float]]:
    """Tokens and seconds of single passes of the baseline without a cache, shortest first.

    The pass over one token and the rows of `pass_by_length`, if the record has some. If not, the
    slopes of the curve without a cache: between two lengths, each further token takes a pass over
    about their mean.
    """
    rows = [row for row in record.of("pass_by_length") if row.time_s is not None]
    if rows:
        measured = {1: launch_s(record, "baseline")} | {row.n_input: row.time_s for row in rows}
        return sorted(measured.items())
    lengths, times_s = curve(record, "baseline", False)
    n_prompt = first_row(record, "baseline").n_input
    means = [n_prompt + (n + n_long - 1) / 2 for n, n_long in pairwise(lengths)]
    return list(zip(means, slopes(lengths, times_s), strict=True))


def slopes(n_new: Sequence[int], times_s: Sequence[float]) -> list[float]:
    """Seconds per further token, between each length and the next longer one; none for one length.

    Raises: ValueError if n_new and times_s differ in size, or a length occurs twice.
    """
    if len(n_new) != len(times_s) or len(set(n_new)) < len(n_new):
        got = f"{len(times_s)} times for the lengths {list(n_new)}"
        raise ValueError(f"wanted a time for each of some different lengths, got {got}")
    points = sorted(zip(n_new, times_s, strict=True))
    return [(t_long - t) / (n_long - n) for (n, t), (n_long, t_long) in pairwise(points)]


def first_row(record: Record, setting: str) -> Row:
    """The first row of a setting: it has the model, and the length of the prompt."""
    return next(row for row in record.of("cache_or_not") if row.setting == setting)
