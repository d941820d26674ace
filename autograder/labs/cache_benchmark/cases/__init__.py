"""Hidden cases of lab 3: fresh prompts, machines and hashes; right functions for the answers."""

import random
from dataclasses import astuple

from labkit import cache_benchmark as reference
from labkit.checks.answers import AnswerCase
from labkit.checks.tables import Call, call, made
from labkit.labs.cache_benchmark.checks.cached import CacheCase
from labkit.labs.cache_benchmark.checks.evicted import LifeCase
from labkit.labs.cache_benchmark.checks.hashes import HashCase
from labkit.labs.cache_benchmark.checks.leaving import LeavingCase
from labkit.labs.cache_benchmark.checks.times import MachineSpec, TimeCase
from labkit.measuring.roofline import ModelWork, Roofline, pass_floor

ANSWERS = ("four_settings", "crossing", "speed_up", "tokens_found", "tiers", "bill")
MODELS = ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-4B", "meta-llama/Llama-3.2-1B", "google/gemma-3-1b-it")
UNWINDOWED = MODELS[:3]
Calls = dict[str, list[Call]]


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {
        "predicted_time_s": _times(rng),
        "leaves_launch_floor_at": [_leaving(rng, 200, 900), _leaving(rng, 1100, 1900)],
        "block_hashes": [_prompt(rng, 1), _prompt(rng, rng.choice([2, 3])), _prompt(rng, 16)],
        "PrefixCache": [
            *(_short_life(rng, size) for size in (1, 2, rng.randrange(3, 17))),
            *(_long_life(rng, n_blocks) for n_blocks in (rng.randrange(3, 7), 9, 14)),
        ],
        **{name: [AnswerCase(name, reference)] for name in ANSWERS},
    }


def hidden_calls(rng: random.Random) -> dict[str, Calls]:
    """The calls of one run, by function and claim."""
    return {
        "generation_passes": _passes(rng),
        "generation_cost": _costs(rng),
        "fetch_and_recompute_s": _fetches(rng),
    }


def _passes(rng: random.Random) -> Calls:
    def calls(use_cache: bool, *n_new: int) -> list[Call]:
        return [call(rng.randrange(2, 40), n, use_cache) for n in n_new]

    without = calls(False, rng.randrange(2, 9))
    cached = [*calls(True, rng.randrange(3, 9), 1, 70), call(1, rng.randrange(3, 9), True)]
    return {
        "every_pass_makes_one_token": [*without, *cached, *calls(True, 0), *calls(False, 0)],
        "without_a_cache_all_is_fed_again": without,
        "with_a_cache_one_token_is_fed": cached,
    }


def _costs(rng: random.Random) -> Calls:
    def run(use_cache: bool, *width: int) -> Call:
        sizes = rng.randrange(20, 700), rng.randrange(3, 9)
        return call(made(ModelWork.of, rng.choice(MODELS)), *sizes, use_cache, *width)

    decoded = [
        call(made(ModelWork.of, model), 1, n_new, True)
        for model, n_new in ((rng.choice(MODELS), rng.randrange(3, 12)), (MODELS[-1], 3))
    ]
    prefill = call(made(ModelWork.of, rng.choice(MODELS)), rng.randrange(100, 900), 1, True)
    without = run(False)
    return {
        "each_step_attends_to_what_is_cached": decoded,
        "prefill_needs_one_position_of_logits": [prefill],
        "without_a_cache_every_pass_is_a_prefill": [without],
        "every_pass_moves_weights_and_cache": [*decoded, prefill, run(True), without],
        "the_width_of_numbers_is_an_argument": [run(True, 4), run(False, 1)],
    }


def _fetches(rng: random.Random) -> Calls:
    cards, types = ("H100-SXM", "L40S", "A100-SXM-80GB"), ("float16", "float32")

    def run(n_tokens: int, *more: object) -> Call:
        machine, work = made(Roofline.of, rng.choice(cards)), made(ModelWork.of, rng.choice(MODELS))
        return call(machine, work, n_tokens, rng.randrange(1, 90) * 1e9, *more)

    factor = 1 + rng.randrange(2, 15) / 10
    calls = [run(rng.randrange(900, 9000)), run(1, factor), run(rng.randrange(50, 900), factor, 1)]
    calls += [run(rng.randrange(900, 2000), factor, 4, name) for name in types]
    no_link = [call(*calls[0].args[:3], bandwidth) for bandwidth in (0.0, -2e9)]
    return {
        "a_fetch_brings_the_whole_cache": calls,
        "recomputing_takes_a_prefill": calls,
        "no_tokens_and_no_link_are_refused": [run(0), run(-rng.randrange(1, 9)), *no_link],
    }


def _machine(rng: random.Random) -> MachineSpec:
    """A machine whose ridge is at 60 to 100 FLOPs per byte, so that prefills are for computing."""
    bandwidth = rng.randrange(200, 900) * 1e9
    float16 = rng.randrange(60, 100) * bandwidth
    return MachineSpec(bandwidth, {"float16": float16, "float32": float16 / rng.choice([3, 5])})


def _times(rng: random.Random) -> list[TimeCase]:
    cases = []
    for kind, n_new, use_cache, dtype in (
        ("floors", rng.randrange(3, 9), True, "float16"),
        ("launch", rng.randrange(3, 9), True, "float16"),
        ("uncached", rng.randrange(3, 9), False, "float16"),
        ("dtype", 1, True, "float32"),
        ("dtype", rng.randrange(3, 9), True, "float32"),
        ("launch", rng.randrange(3, 9), False, "float32"),
        ("floors", 0, True, "float16"),
    ):
        machine, model = _machine(rng), rng.choice(UNWINDOWED)
        n_prompt = rng.randrange(900, 1500) if n_new else 1
        roofline, work = Roofline("made up", *astuple(machine)), ModelWork.of(model)
        launch_s = 0.0
        if kind == "launch":  # between a decode step and the prefill
            step, prefill = (pass_floor(roofline, work, n, 0).seconds for n in (1, n_prompt))
            launch_s = rng.uniform(1.5 * step, 0.8 * prefill) if use_cache else 20 * prefill
        arguments = (roofline, work, n_prompt, n_new, use_cache, launch_s, dtype)
        expected_s = reference.predicted_time_s(*arguments)
        how = (n_prompt, n_new, use_cache, expected_s, launch_s, dtype)
        cases.append(TimeCase(kind, machine, model, *how))
    return cases


def _leaving(rng: random.Random, least: int, most: int) -> LeavingCase:
    machine, model = _machine(rng), rng.choice(UNWINDOWED)
    roofline, work = Roofline("made up", *astuple(machine)), ModelWork.of(model)
    expected, n_context = rng.randrange(least, most), most + rng.randrange(300, 1100)
    expected += expected % 10 == 1  # in no row of lengths that are tried in tens

    def floor_s(n_tokens: int) -> float:
        return pass_floor(roofline, work, n_tokens).seconds

    launch_s = (floor_s(expected - 1) + floor_s(expected)) / 2
    in_float32 = reference.leaves_launch_floor_at(roofline, work, launch_s, n_context, "float32")
    return LeavingCase(
        machine,
        model,
        launch_s,
        n_context,
        expected,
        above_all_s=floor_s(n_context),
        below_all_s=0.5 * floor_s(1),
        float32_expected=in_float32,
    )


def _prompt(rng: random.Random, block_size: int) -> HashCase:
    n_tokens = block_size * rng.randrange(5, 7) + rng.randrange(block_size)
    n_tokens += not n_tokens % block_size and block_size > 1  # a tail, if there can be one
    tokens = [0, *(rng.randrange(4, 60_000) for _ in range(1, n_tokens))]
    return HashCase(tuple(rng.sample(tokens, n_tokens)), block_size)


def _short_life(rng: random.Random, block_size: int) -> CacheCase:
    tail = rng.randrange(2, block_size) if block_size > 2 else block_size - 1
    return CacheCase(block_size, rng.randrange(3, 7), tail, seed=rng.randrange(1000))


def _long_life(rng: random.Random, n_blocks: int, n_requests: int = 40) -> LifeCase:
    """Prompts that share beginnings; up to three requests run at the same time."""
    size = rng.randrange(1, 4)
    first, *prompts = [rng.choices(range(50), k=size * rng.randrange(2, 6)) for _ in range(4)]
    prompts += [[*first, *one] for one in prompts] + [[*first[:size], *prompts[0]]]
    running, steps, n_begun = [], [], 0
    while n_begun < n_requests or running:
        if n_begun < n_requests and (not running or (len(running) < 3 and rng.random() < 0.55)):
            one = rng.randrange(len(prompts))
            n_prompt = rng.randrange(1, len(prompts[one]) + 1)
            running.append((n_begun, one, rng.randrange(n_prompt, len(prompts[one]) + 1)))
            steps.append(("find", n_begun, one, n_prompt))
            n_begun += 1
        else:
            steps.append(("keep", *running.pop(rng.randrange(len(running)))))
    cache, found = reference.PrefixCache(n_blocks, size), []
    for do, request_id, one, n_tokens in steps:
        got = getattr(cache, do)(request_id, prompts[one][:n_tokens])
        found += [got] if do == "find" else []
    return LifeCase(n_blocks, size, tuple(map(tuple, prompts)), tuple(steps), tuple(found))
