"""Reading lab 6's rows out of a record: steps, acceptance, gains, and what predicts them."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from labkit.measuring.profiles import PAIRS
from labkit.measuring.records import NothingMeasured, Record, Row
from labkit.models.sampling import Block

ALONE = "alone"  # the setting of a target that writes by itself
N_CACHED = 300  # tokens before a step that is timed
OWN = "own"  # steps, as they were timed in the run itself
Speedup = Callable[[float, int, float, float, float], float]


@dataclass(frozen=True, slots=True)
class Gain:
    """What a pair gained at one gamma: measured seconds per token, acceptance, predictions.

    low, high: of speedup the least and the greatest round; of alpha its 95 % interval. predicted:
    the speedup that follows from alpha and from steps, by what they are called. outside: the part
    of the run's time that was spent in neither model, NaN where that was not measured.
    """

    row: Row
    gamma: int
    token_s: float
    alone_s: float
    speedup: tuple[float, float, float]
    accepted_of_drafted: float
    alpha: tuple[float, float, float]
    tokens_per_block: float
    predicted: dict[str, float]
    outside: float


def counts_of(blocks: Iterable[Block]) -> dict[str, float]:
    """Blocks, drafted, examined and accepted tokens, and the ends of alpha's interval.

    Nothing where there are no blocks.
    """
    blocks, by_prompt = list(blocks), defaultdict(lambda: [0, 0])
    if not blocks:
        return {}
    for block in blocks:
        by_prompt[block.prompt_id][0] += block.n_accepted
        by_prompt[block.prompt_id][1] += block.examined
    accepted, examined = map(sum, zip(*by_prompt.values(), strict=True))
    drafted = sum(block.n_drafted for block in blocks)
    found = {"blocks": len(blocks), "drafted": drafted, "examined": examined, "accepted": accepted}
    if examined:
        found["alpha_low"], found["alpha_high"] = _interval(list(by_prompt.values()))
    return found


def _interval(trials: Sequence[Sequence[int]]) -> tuple[float, float]:
    """95 %, for accepted and examined tokens of each prompt.

    Tokens as independent trials (Wilson 1927); and, if it is wider, prompts as a sample of unlike
    ones (Cochran 1977, equation 2.39).
    """
    n_accepted, n = map(sum, zip(*trials, strict=True))
    rate, z, n_prompts = n_accepted / n, 1.96, len(trials)
    middle = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(rate * (1 - rate) / n + (z / n) ** 2 / 4)
    low, high = middle - half, middle + half
    if n_prompts > 1:
        squares = sum((accepted - rate * examined) ** 2 for accepted, examined in trials)
        error = math.sqrt(n_prompts / (n_prompts - 1) * squares) / n
        half = student_quantile(n_prompts - 1) * error
        low, high = min(low, rate - half), max(high, rate + half)
    return max(0.0, low), min(1.0, high)


def student_quantile(n_degrees: int) -> float:
    """How many standard errors, estimated from few numbers, 95 % reach to both sides of their mean.

    n_degrees: of freedom, one less than there are numbers.
    Source: Abramowitz and Stegun, equations 26.7.3 and 26.7.4, inverted by bisection.
    """
    is_odd = n_degrees % 2

    def inside(angle: float) -> float:
        """The chance of being less than sqrt(n_degrees) tan(angle) away from 0."""
        total, term = 0.0, math.sin(angle) * math.cos(angle) ** is_odd
        for i in range(1, n_degrees // 2 + 1):
            total += term
            term *= math.cos(angle) ** 2 * (2 * i - 1 + is_odd) / (2 * i + is_odd)
        return (angle + total) * 2 / math.pi if is_odd else total

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < 0.95 else (low, middle)
    return math.sqrt(n_degrees) * math.tan(high)


def gains(
    record: Record, speedup: Speedup | None = None, experiment: str = "speculation"
) -> list[Gain]:
    """Every pair and gamma of the experiment, in the order of measurement.

    speedup: as `labkit.speculative.speedup`, which it is if none is given.
    Raises: NothingMeasured if the record has no such rows, or none of the target alone.
    """
    rows = [row for row in record.of(experiment) if row.is_ok]
    alone = {_task_of(row): row for row in rows if gamma_of(row) == 0}
    found = [
        _gain(record, row, alone[_task_of(row)], speedup)
        for row in rows
        if gamma_of(row) and _task_of(row) in alone
    ]
    if not found:
        raise NothingMeasured.of(record.of(experiment), experiment)
    return found


def _task_of(row: Row) -> tuple:
    """What a row shares with the target alone: the pair, the batch, the texts."""
    return row.model, row.batch_size, *words_of(row)[1:3]


def gamma_of(row: Row) -> int:
    """The gamma in a row's setting; 0 for the target alone."""
    first = words_of(row)[0]
    return 0 if first == ALONE else int(first.removeprefix("gamma "))


def words_of(row: Row) -> list[str]:
    """The parts of a row's setting: gamma or "alone" first, then for instance a source."""
    return row.setting.split(", ")


def token_s(row: Row) -> float:
    """Median seconds per new token, without what the prompts took."""
    return (row.time_s - row.counts.get("prefill_s", 0.0)) / row.n_new


def _gain(record: Record, row: Row, alone: Row, speedup: Speedup | None) -> Gain:
    counts, gamma = row.counts, gamma_of(row)
    alpha = counts["accepted"] / counts["examined"] if counts["examined"] else math.nan
    rounds = [
        decoding_s(alone, i) / alone.n_new / (decoding_s(row, i) / row.n_new)
        for i in range(min(len(row.samples_s), len(alone.samples_s)))
    ]
    return Gain(
        row=row,
        gamma=gamma,
        token_s=token_s(row),
        alone_s=token_s(alone),
        speedup=(token_s(alone) / token_s(row), min(rounds), max(rounds)),
        accepted_of_drafted=counts["accepted"] / max(1, counts["drafted"]),
        alpha=(alpha, counts.get("alpha_low", alpha), counts.get("alpha_high", alpha)),
        tokens_per_block=row.n_new * row.batch_size * counts["runs"] / counts["blocks"],
        predicted=_predicted(record, row, alone, alpha, speedup),
        outside=1 - counts.get("steps_s", math.nan) / (token_s(row) * row.n_new),
    )


def decoding_s(row: Row, i: int) -> float:
    """Seconds of a round, without what the prompts took on average."""
    return row.samples_s[i] - row.counts.get("prefill_s", 0.0)


def _predicted(
    record: Record, row: Row, alone: Row, alpha: float, speedup: Speedup | None
) -> dict[str, float]:
    """By the run's own steps, if they were timed, else by the engine's; and by eager ones.

    Drafts that copy take no time; steps of a head are timed in its own runs alone. Those two are
    steps of one text, so there are none for a batch; and nothing follows from an alpha that nothing
    was examined for.
    """
    if math.isnan(alpha):
        return {}
    if speedup is None:
        from labkit.speculative import speedup
    gamma, steps = gamma_of(row), {}
    if "target_step_s" in row.counts:
        target_s, verify_s = (each.counts["target_step_s"] for each in (alone, row))
        steps[OWN] = (row.counts.get("draft_step_s", 0.0), target_s, verify_s)
    for setting in settings_of(record) if row.batch_size == 1 else []:
        if setting == "eager" or not steps:
            target, draft = PAIRS[row.model]
            others = {"n-gram": 0.0, "head": math.nan}  # no step of the pair's draft
            draft_s = others.get(words_of(row)[-1], step_s(record, draft, setting))
            target_s, verify_s = (step_s(record, target, setting, n) for n in (1, gamma + 1))
            if not math.isnan(draft_s + target_s + verify_s):
                steps[setting] = (draft_s, target_s, verify_s)
    return {setting: speedup(alpha, gamma, *times_s) for setting, times_s in steps.items()}


def settings_of(record: Record) -> list[str]:
    """The settings of `decode_steps` that the record has: the engine's, then "eager"."""
    found = dict.fromkeys(row.setting for row in record.of("decode_steps") if row.is_ok)
    return sorted(found, key="eager".__eq__)


def step_s(record: Record, model: str, setting: str, n_fed: int = 1) -> float:
    """Median seconds of a step over n_fed tokens; between measured numbers a straight line.

    NaN for a model or setting that the record does not have, and for more tokens than were
    measured.
    """
    rows = record.of("decode_steps", model)
    timed = (row for row in rows if row.is_ok and row.setting == setting)
    points = sorted((row.n_input, row.time_s) for row in timed)
    if not points or not points[0][0] <= n_fed <= points[-1][0]:
        return math.nan
    left = max(point for point in points if point[0] <= n_fed)
    right = min(point for point in points if point[0] >= n_fed)
    share = (n_fed - left[0]) / (right[0] - left[0]) if right > left else 0.0
    return left[1] + share * (right[1] - left[1])


def copy_bandwidth(record: Record) -> float:
    """Bytes per second that the record's copy read and wrote together.

    NaN if the record has none.
    """
    for row in record.of("copy_bandwidth"):
        if row.is_ok:
            return row.counts["moved_bytes"] / row.time_s
    return math.nan


def floor_s(record: Record, model: str) -> float:
    """Seconds that reading a model's weights once takes at the record's `copy_bandwidth`.

    NaN for a model whose bytes were not counted, because the engine does not have it.
    """
    rows = record.of("decode_steps", model)
    counted = [row.counts["step_bytes"] for row in rows if "step_bytes" in row.counts]
    return counted[0] / copy_bandwidth(record) if counted else math.nan


def best(gains_of_pair: Iterable[Gain]) -> Gain:
    """The one with the largest measured speedup."""
    return max(gains_of_pair, key=lambda gain: gain.speedup[0])


def ratios_of(record: Record, pair: str = "tiny") -> dict[int, float]:
    """Accepted / drafted of a pair by gamma, from the record."""
    return {
        gamma_of(row): row.counts["accepted"] / row.counts["drafted"]
        for row in record.of("speculation", pair)
        if row.is_ok and gamma_of(row)
    }


def alpha_of_ratio(ratio: float, gamma: int) -> float:
    """The alpha for which accepted / drafted is this, as many reports give it, by bisection.

    Each token is accepted with probability alpha as long as all before it were.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        is_less = sum(middle**n for n in range(1, gamma + 1)) < ratio * gamma
        low, high = (middle, high) if is_less else (low, middle)
    return high
