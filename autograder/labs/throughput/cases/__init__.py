"""Hidden cases of lab 02: other devices, models, sweeps, lines; what is wrong with the report."""

import random
import statistics

from labkit import throughput
from labkit.checks.answers import AnswerCase
from labkit.checks.tables import Call, call
from labkit.labs.throughput.checks.generate import FixedCase
from labkit.labs.throughput.checks.operations import ProgramCase
from labkit.labs.throughput.checks.sweep import SweepCase
from labkit.labs.throughput.checks.timer import TimerCase
from labkit.labs.throughput.programs import STEPS

FAULTY_ENTRIES = {
    "cold_start": "A",
    "impossible_row": "H",
    "mean_of_rates": "P",
    "wrong_unit": "Q",
    "batch_mislabelled": "L",
    "mha_taken_for_gqa": "N",
}


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {
        "time_runs": _timers(rng),
        "generate_fixed": _generations(rng),
        "sweep": _sweeps(rng),
        "count_operations": _programs(rng),
        "operations": [AnswerCase("operations")],
        "which_limit": [AnswerCase("which_limit")],
        "without_launches": [AnswerCase("without_launches")],
        "serving_point": [AnswerCase("serving_point", throughput)],
        "flawed_report": [AnswerCase("flawed_report", FAULTY_ENTRIES)],
    }


def hidden_calls(rng: random.Random) -> dict[str, dict[str, list[Call]]]:
    """The calls of one run, by function and claim."""
    return {
        "tokens_per_s": _rates(rng),
        "fit_steps": _fits(rng),
        "cheapest_batch": _batches(rng),
    }


def _timers(rng: random.Random) -> list[TimerCase]:
    cases = []
    for n_warmup, n_repeats, begins_busy in ((3, 7, False), (0, 4, True), (1, 1, True)):
        # Sixteenths of seconds, all different, neither rising nor falling: sums are exact, a
        # sorted list is another one.
        kept = [each / 16 for each in rng.sample(range(2, 60), n_repeats)]
        if kept == sorted(kept):
            kept.reverse()
        warming = [rng.randrange(80, 400) / 16 for _ in range(n_warmup)]
        launch_s = rng.choice([1, 2]) / 32
        cases.append(TimerCase((*warming, *kept), n_warmup, launch_s, begins_busy))
    return cases


def _generations(rng: random.Random) -> list[FixedCase]:
    seeds = [rng.randrange(10**6) for _ in range(4)]
    n_new = rng.randrange(9, 40)
    return [
        FixedCase(rng.randrange(2, 6), rng.randrange(2, 40), n_new, seed=seeds[0]),
        FixedCase(1, 1, 1, seed=seeds[1]),
        FixedCase(4, rng.randrange(25, 60), n_new, rng.randrange(1, n_new - 3), seeds[2]),
        FixedCase(2, 3, n_new, n_new - 1, seeds[3]),
    ]


def _sweeps(rng: random.Random) -> list[SweepCase]:
    def points(n: int) -> tuple[tuple, ...]:
        sizes = [(rng.choice([1, 4, 8]), 2**i, rng.choice([16, 64])) for i in range(n)]
        rng.shuffle(sizes)
        if sizes == sorted(sizes):
            sizes.reverse()
        return tuple(sizes)

    plain, large, some, broken = points(6), points(7), points(6), points(5)
    broken = (*(each for each in broken if each != min(broken)), min(broken))  # it does not break
    early, later = large[rng.randrange(2)], large[rng.randrange(3, 6)]  # others come after both
    return [
        SweepCase(plain),
        SweepCase(large, too_large=(early, later)),
        SweepCase(some, too_large=(some[-1],)),
        SweepCase(some, done=tuple(rng.sample(some[1:], 3))),
        SweepCase(some, done=some[:2]),
        SweepCase(some[:1]),
        SweepCase(some, empty=some[2]),
        SweepCase((*some[:2], (3,)), empty=(3,)),
        SweepCase(broken, unsaved=broken[rng.randrange(1, 4)], error=MemoryError),
        SweepCase(broken, unsaved=broken[rng.randrange(1, 4)]),
        SweepCase(broken, broken=broken[rng.randrange(2, 4)]),
        SweepCase(broken, broken=broken[2], error=RuntimeError),
        SweepCase(broken, broken=broken[1], error=TypeError),
    ]


def _rates(rng: random.Random) -> dict[str, list[Call]]:
    batch_size, n_new = rng.randrange(3, 9), rng.randrange(10, 300)
    alone = [rng.randrange(10, 1000) / 64]
    many = [n / 64 for n in (*rng.sample(range(10, 100), 6), rng.randrange(400, 900))]
    rng.shuffle(many)
    while statistics.median(many) in (many[0], many[3], many[-1]):  # in none of these places
        rng.shuffle(many)
    low, second, *middle, last, high = sorted(n / 64 for n in rng.sample(range(10, 100), 8))
    even = [second, low, *middle[1:3], middle[0], middle[3], high, last]  # no slip is another
    samples = {
        "all_sequences_count": alone,
        "the_median_run_counts": many,
        "two_runs_may_be_in_the_middle": even,
        "no_samples_have_no_rate": [],
    }
    return {
        name: [call(batch_size, n_new, each), call(1, n_new, each), call(batch_size, 1, each)]
        for name, each in samples.items()
    }


def _fits(rng: random.Random) -> dict[str, list[Call]]:
    prefill_s, step_s = rng.randrange(10, 200) / 64, rng.randrange(1, 30) / 256
    lengths = sorted(rng.sample(range(2, 400), 6))
    on_line = [prefill_s + (n - 1) * step_s for n in lengths]
    scattered = [t + rng.randrange(-90, 90) * step_s for t in on_line]
    while _is_of_two(lengths, scattered, step_s / 20):
        scattered = [t + rng.randrange(-90, 90) * step_s for t in on_line]
    order = rng.sample(range(6), 6)
    lines = [
        call(lengths, on_line),
        call([lengths[i] for i in order], [on_line[i] for i in order]),
        call([1, 9], [prefill_s, prefill_s + 8 * step_s]),
    ]
    return {
        "a_step_is_the_slope": lines,
        "the_prefill_makes_the_first_token": lines,
        "all_points_have_a_say": [
            call(lengths, scattered),
            call([*lengths, lengths[0]], [*scattered, scattered[0] + 40 * step_s]),
        ],
        "one_length_determines_no_line": [call(lengths[:1] * n, on_line[:n]) for n in (1, 3, 0)],
    }


def _is_of_two(n_new: list[int], times_s: list[float], near_s: float) -> bool:
    """Whether the line through the first and the last point is as steep as that of all."""
    of_two = (times_s[-1] - times_s[0]) / (n_new[-1] - n_new[0])
    return abs(of_two - throughput.fit_steps(n_new, times_s)[1]) < near_s


def _programs(rng: random.Random) -> list[ProgramCase]:
    """Each has a step several times, a view, a step with a keyword argument, one of two parts."""
    every = sorted(STEPS)
    shown = ("turn", "add twice", "center", "relu", "add in place", "scale with gradients")
    cases = []
    for n in (3, 5, 9):
        steps = [*rng.choices(every, k=n), *shown]
        steps += [rng.choice(steps)] * 2
        rng.shuffle(steps)
        other = rng.choices(rng.sample(every, 2), k=n + 1)  # fewer names than the first one has
        cases.append(ProgramCase(tuple(steps), tuple(other)))
    one = rng.choice([step for step in every if step != "multiply"])
    return [*cases, ProgramCase((one,), ("multiply",))]


def _batches(rng: random.Random) -> dict[str, list[Call]]:
    """Steps in sixty-fourths of a second, so that equal prices are equal in all digits."""
    dollars = rng.randrange(1, 12) / 2
    unit = rng.randrange(2, 6) / 64
    # per token: 10, 11, 2.25, 2 and 4 units; each mistake takes another batch size
    some = {n: each * unit for n, each in {1: 10, 2: 22, 4: 9, 8: 16, 16: 64}.items()}
    shuffled = dict(rng.sample(sorted(some.items()), len(some)))
    tied = {4: 8 * unit, 2: 4 * unit, 8: 16 * unit, 1: 3 * unit}
    alone = [call({n: unit}, dollars, 1) for n in (rng.choice([3, 5, 7]), 1)]
    return {
        "the_cheapest_tokens_win": [call(some, dollars, 99 * unit), call(shuffled, dollars, 99.0)],
        "slow_batches_are_left_out": [
            call(shuffled, dollars, n * unit) for n in (64, 63, 16, 15, 9, 15.5)
        ],
        "of_equally_cheap_ones_the_smaller_is_taken": [
            call(tied, dollars, 99 * unit),
            call(tied, dollars, 8 * unit),
        ],
        "the_price_is_that_of_a_million_tokens": alone,
        "no_batch_is_fast_enough": [call(some, dollars, 8.5 * unit), call({}, dollars, 1.0)],
    }
