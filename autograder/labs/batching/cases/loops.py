"""Hidden workloads of the two loops of lab 05: fresh lengths, times, ids and orders."""

import random
from collections.abc import Iterable
from dataclasses import replace

from labkit.labs.batching.checks.loads import load_case
from labkit.labs.batching.checks.loops import LoopCase, Together
from labkit.labs.batching.driver import ORDERS
from labkit.labs.batching.workload import FixedCosts, Job, Setup

SETUP = Setup(
    prefill_capacity=160,
    decode_capacity=96,
    prefill_batch=4,
    decode_batch=4,
    prefill_budget=64,
    max_length=64,
)
FAST_PREFILL = FixedCosts(prefill=0.2, transfer=0.1)
SLOW_PREFILL = FixedCosts(prefill=3.0, decode=0.2, transfer=0.5)
NO_PREFILL = FixedCosts(prefill=0.0)
OTHER_EOS = 50_256


def loop_cases(rng: random.Random) -> dict[str, list]:
    """The cases of both loops; the same state of `rng` gives the same cases."""
    workloads = [*_edges(rng), *_memory(rng), *_speeds(rng), _twins(rng)]
    prefill = [*workloads, *_budgets(rng)]
    decode = [*workloads, *_all_at_once(rng), _passed_by_small_ones(rng)]
    tight = [_jobs(rng, _pairs(rng, 30, most_input=20, most_output=20)) for _ in range(5)]
    crowds = [_jobs(rng, _pairs(rng, 48, most_input=48, most_output=20)) for _ in range(3)]
    return {
        "PrefillLoop": [*prefill, Together(tuple(prefill)), load_case("prompts", *crowds)],
        "DecodeLoop": [
            *decode,
            Together(tuple(decode)),
            load_case("slots", *crowds),
            load_case("memory", *tight),
        ],
    }


def one_ends_at_once(rng: random.Random) -> LoopCase:
    """Prompts that are in no order by length; the first token of one in a batch is its last."""
    level = rng.randint(20, 36)
    lengths = [(level + 2, 9, 1), (level, 6), (level + 3, 4), (level + 1, 5)]
    four = sum(length for length, *_ in lengths)
    exact = replace(SETUP, prefill_capacity=four, prefill_budget=four)  # what is not freed fills it
    return LoopCase("one ends at once", _jobs(rng, lengths * 5), exact)


def _jobs(rng: random.Random, lengths: Iterable[tuple], within_s: float = 0.0) -> tuple[Job, ...]:
    """Requests from (n_input, max_new, stops_after); ids say nothing of the order."""
    lengths = list(lengths)
    ids = rng.sample(range(10, 1000), len(lengths))
    times = sorted(rng.uniform(0, within_s) for _ in lengths)
    jobs = (Job(i, *each) for i, each in zip(ids, lengths, strict=True))
    return tuple(replace(job, arrival_s=when) for job, when in zip(jobs, times, strict=True))


def _pairs(
    rng: random.Random, n: int, most_input: int = 24, most_output: int = 12
) -> list[tuple[int, int]]:
    """Lengths of prompt and output, ordinary ones."""
    return [(rng.randint(2, most_input), rng.randint(2, most_output)) for _ in range(n)]


def _mixed(rng: random.Random, *groups: list[tuple]) -> list[tuple]:
    """All of these, in any order."""
    together = [each for group in groups for each in group]
    return rng.sample(together, len(together))


def _edges(rng: random.Random) -> list[LoopCase]:
    """No request, one, equal ones; first token = last token; requests that can never run."""
    n = SETUP.max_length
    alike = (rng.randint(6, 20), rng.randint(3, 6))
    threes = replace(SETUP, prefill_capacity=3 * alike[0])
    ample = replace(SETUP, prefill_capacity=4096, decode_capacity=4096)
    one_slot = replace(ample, decode_batch=1)
    by_limit = [(10, 1), (n - 1, 9), (n - 1, None), (12, 1), (n - 3, 9), (n - 4, None)]
    by_text = [(10, 7, 1), (11, None, 1), (20, 8, 1)]
    too_long = [(n, 4), (n + 9, 3), (n, None), (14, 0)]
    small = replace(SETUP, decode_capacity=50, prefill_capacity=40)
    too_large = [(41, 1), (40, 11), (31, 20), (20, None)]
    just_fit = [(30, 20, 5), (40, 10, 4), (25, 25, 4)]
    store = replace(SETUP, max_length=96, storage=60)
    too_much = [(61, 4), (70, 9, 3), (61, None, 2), (60, 4), (61, 1), (60, 1)]
    ending = [(36, 1), (35, 1), (37, 1), (20, 17), (20, 16)]
    to_limit = [(23, None), (22, None), (23, 9), (20, 9, 3), (24, 1)]
    ordinary = _pairs(rng, 9, most_input=16)
    long_answer = [(rng.randint(2, 24), rng.randint(30, 38))]
    of_one = [(1, 1), (1, 4), (2, 3), (1, None, 3), (1, 2)]
    last_of_two = [*_pairs(rng, 2), (rng.randint(2, 24), 2)]
    ends = replace(SETUP, eos=OTHER_EOS)
    return [
        LoopCase("nobody", (), SETUP),
        LoopCase("one", _jobs(rng, long_answer, 3.0), SETUP, rng.choice(ORDERS)),
        LoopCase("all alike", _jobs(rng, [alike] * 14), threes, "by time", FAST_PREFILL),
        LoopCase("end together", _jobs(rng, [alike] * 9), ample, "prefill first", NO_PREFILL),
        LoopCase("one slot", _jobs(rng, last_of_two), one_slot, rng.choice(ORDERS)),
        LoopCase("prompts of one token", _jobs(rng, of_one), ends),
        LoopCase("limit 1", _jobs(rng, _mixed(rng, by_limit, _pairs(rng, 8))), SETUP, "random"),
        LoopCase("text ends at once", _jobs(rng, _mixed(rng, by_text, _pairs(rng, 8)), 4.0), ends),
        LoopCase("too long", _jobs(rng, _mixed(rng, too_long, ordinary)), SETUP, "decode first"),
        LoopCase("too large", _jobs(rng, _mixed(rng, too_large, just_fit, ordinary), 6.0), small),
        LoopCase("ends here", _jobs(rng, ending), replace(SETUP, decode_capacity=36)),
        LoopCase("short", _jobs(rng, _mixed(rng, to_limit)), replace(SETUP, max_length=24)),
        LoopCase("too much", _jobs(rng, _mixed(rng, too_much, ordinary), 9.0), store, "random"),
    ]


def _memory(rng: random.Random) -> list[LoopCase]:
    """A giant among dwarfs; sizes that fill the memory to the token, or miss it by one."""
    dwarfs = [(rng.randint(2, 8), rng.randint(2, 4)) for _ in range(14)]
    giants = [*dwarfs[:3], (60, 4), *dwarfs[3:9], (52, 12, 3), *dwarfs[9:]]
    length = rng.randint(4, 12)
    exact = [(24 - n, n) for n in (length, length - 1, length, length - 2)]
    over = [(25 - n, n) for n in (length, length - 1, length, length - 2)]
    ends = replace(SETUP, eos=OTHER_EOS, max_length=40)
    early = [(rng.randint(4, 12), (None, 24)[i % 2], rng.randint(2, 5)) for i in range(10)]
    return [
        LoopCase("giants", _jobs(rng, giants), SETUP, "by time", FAST_PREFILL),
        LoopCase("to the token", _jobs(rng, exact * 2 + over * 2), SETUP, "random", FAST_PREFILL),
        LoopCase("early ends", _jobs(rng, early), ends, rng.choice(ORDERS), FAST_PREFILL),
    ]


def _passed_by_small_ones(rng: random.Random) -> LoopCase:
    """A large request of unknown length fits; small ones come after it, one at a time."""
    small = [(rng.randint(2, 6), 3) for _ in range(8)]
    jobs = _jobs(rng, [(44, None, rng.randint(18, 20)), *small])
    times = [0.0, *(rng.uniform(1, 2) + 3 * i for i in range(len(small)))]
    jobs = tuple(replace(job, arrival_s=when) for job, when in zip(jobs, times, strict=True))
    return LoopCase("passed by small ones", jobs, replace(SETUP, eos=OTHER_EOS))


def _twins(rng: random.Random) -> LoopCase:
    """Requests that are the same but for their ids."""
    twins = [each for each in _pairs(rng, 5) for _ in range(3)]
    return LoopCase("twins", _jobs(rng, twins, 5.0), SETUP, "random", seed=rng.randrange(10**6))


def _budgets(rng: random.Random) -> list[LoopCase]:
    """Batches that fill the budget, the memory or the store to the token, or miss it by one."""
    short = [(rng.randint(3, 6), 2) for _ in range(17)]
    long = [(rng.randint(46, 49), 2) for _ in range(17)]
    level = rng.randint(18, 26)
    three = [(each, rng.randint(2, 5)) for _ in range(4) for each in (level, level + 4, level + 1)]
    longer = [(rng.randint(2, 9), 2), (rng.randint(52, 59), 3), (level, 2), (50, 3), (49, 2)]
    pairs = [(level, 2), (level + 1, 3), (level, 3), (level, 2), (2 * level + 1, 2), (level, 2)]
    uneven = [(rng.choice((2, 3, 28, 30)), rng.randint(2, 4)) for _ in range(20)]
    exact = replace(SETUP, prefill_budget=3 * level)
    missed = replace(SETUP, prefill_budget=3 * level + 4)
    low = replace(SETUP, prefill_budget=48)
    memory = replace(SETUP, prefill_capacity=2 * level, max_length=96)
    memory = replace(memory, decode_capacity=4 * level)
    tight = replace(SETUP, storage=3 * level + 5, prefill_budget=200)
    filled = replace(SETUP, storage=2 * level, decode_batch=2)
    small_batch = replace(SETUP, prefill_batch=2, prefill_budget=100)
    return [
        LoopCase(
            "to the budget", _jobs(rng, [(level, 3)] * 9), exact, rng.choice(ORDERS), FAST_PREFILL
        ),
        LoopCase("beyond the budget", _jobs(rng, three), missed, rng.choice(ORDERS), FAST_PREFILL),
        LoopCase("longer", _jobs(rng, rng.sample(longer, 5), 9.0), low, rng.choice(ORDERS)),
        LoopCase("longer, at once", _jobs(rng, longer * 2), low, "prefill first", NO_PREFILL),
        LoopCase("little memory", _jobs(rng, pairs), memory, rng.choice(ORDERS), FAST_PREFILL),
        LoopCase("uneven", _jobs(rng, uneven), SETUP, rng.choice(ORDERS)),
        LoopCase("to the store", _jobs(rng, three), tight, "prefill first", NO_PREFILL),
        LoopCase("a full store", _jobs(rng, [(level, 3)] * 6), filled, "prefill first"),
        LoopCase("one long", _jobs(rng, [*short[:2], (50, 3), *short[2:]]), small_batch),
        LoopCase("one short", _jobs(rng, [*long[:2], (4, 3), *long[2:]]), small_batch),
    ]


def _speeds(rng: random.Random) -> list[LoopCase]:
    """Either server is the slower one, and the loops are called in any order."""
    store = replace(SETUP, storage=rng.randint(44, 60), decode_batch=2, prefill_budget=40)
    orders = [("decode first", None), ("prefill first", 70), ("random", 50), ("random", None)]
    return [
        LoopCase("slow decode", _jobs(rng, _pairs(rng, 14, 40)), store, "by time", FAST_PREFILL),
        LoopCase("slow prefill", _jobs(rng, _pairs(rng, 10), 20.0), SETUP, "by time", SLOW_PREFILL),
        *(
            LoopCase(
                "any order",
                _jobs(rng, _pairs(rng, 10, 40), 8.0),
                replace(SETUP, storage=room),
                order,
                FAST_PREFILL,
                seed=rng.randrange(10**6),
            )
            for order, room in orders
        ),
    ]


def _all_at_once(rng: random.Random) -> list[LoopCase]:
    """All prompts are computed before the first decode step; large ones first, lengths unknown."""
    large = [(50, rng.randint(8, 12)) for _ in range(4)]
    blocked = [large[0], (27, 3), (28, 4), *large[1:], *_pairs(rng, 6, most_input=8)]
    unknown = [(rng.randint(2, 10), None, rng.randint(4, 10)) for _ in range(16)]
    unknown.insert(rng.randrange(8), (rng.randint(2, 6), None))  # runs to its limit
    slots = replace(SETUP, decode_batch=8)
    extremes = rng.sample([(50, 13), (2, 2)], 2)
    fair = [*extremes, *((rng.randint(8, 20), rng.randint(5, 9)) for _ in range(24))]
    ample = replace(SETUP, decode_capacity=4096, decode_batch=rng.choice((2, 3)))
    short = replace(slots, max_length=24)
    return [
        LoopCase("lengths unknown", _jobs(rng, unknown), short, "prefill first", NO_PREFILL),
        LoopCase("fairness", _jobs(rng, fair), ample, "prefill first", NO_PREFILL),
        LoopCase("blocked", _jobs(rng, blocked), SETUP, "prefill first", NO_PREFILL),
        LoopCase("lengths known", _jobs(rng, _pairs(rng, 18)), slots, "prefill first", NO_PREFILL),
    ]
