"""Wrong answers to lab 3's exercises, and, from a module of their own, to its answer cells."""

from autograder.labs.cache_benchmark.mutants.answers import ANSWER_MUTANTS
from autograder.labs.cache_benchmark.mutants.prefix import PREFIX_MUTANTS
from autograder.labs.mutants import Mutant

_NUMBER = "every_pass_makes_one_token"
_AGAIN = "without_a_cache_all_is_fed_again"
_SINGLE = "with_a_cache_one_token_is_fed"
_STEPS = "each_step_attends_to_what_is_cached"
_LOGITS = "prefill_needs_one_position_of_logits"
_UNCACHED = "without_a_cache_every_pass_is_a_prefill"
_MOVED = "every_pass_moves_weights_and_cache"
_WIDTH = "the_width_of_numbers_is_an_argument"
_EACH = "each_pass_has_its_own_limit"
_LAUNCH = "no_pass_is_shorter_than_its_launch"
_GROW = "without_a_cache_passes_grow"
_DTYPE = "floors_follow_the_dtype"
_FIRST = "the_first_length_above_the_launch_is_found"
_LAST = "the_last_length_of_the_context_counts"
_NONE = "none_if_no_length_leaves_it"
_ONE = "one_token_can_be_too_long"
_FLOAT32 = "the_floor_of_the_dtype_is_taken"
_RISES = "slopes_are_rises_over_runs"
_ORDER = "the_order_of_points_does_not_matter"
_REFUSED = "what_has_no_slope_is_refused"

COST_MUTANTS = [
    Mutant(
        "generation_passes",
        "a pass for the last token too",
        (_NUMBER,),
        "for n_made in range(n_new):",
        "for n_made in range(n_new + 1):",
    ),
    Mutant(
        "generation_passes",
        "the prefill makes no token",
        (_AGAIN, _SINGLE),
        "        n_tokens = n_prompt + n_made\n",
        "        n_tokens = n_prompt + n_made + 1\n",
    ),
    Mutant(
        "generation_passes",
        "always with a cache",
        (_AGAIN,),
        "if use_cache and n_made else 0",
        "if n_made else 0",
    ),
    Mutant(
        "generation_passes",
        "the prompt again and again",
        (_AGAIN,),
        source="""def generation_passes(n_prompt, n_new, use_cache):
    if use_cache:
        return [(1 if i else n_prompt, n_prompt + i - 1 if i else 0) for i in range(n_new)]
    return [(n_prompt, 0)] * n_new""",
    ),
    Mutant(
        "generation_passes",
        "cached tokens do not grow",
        (_SINGLE,),
        source="""def generation_passes(n_prompt, n_new, use_cache):
    if not use_cache:
        return [(n_prompt + i, 0) for i in range(n_new)]
    return [(1, n_prompt) if i else (n_prompt, 0) for i in range(n_new)]""",
    ),
    Mutant(
        "generation_passes",
        "the token just made counts as cached",
        (_SINGLE,),
        source="""def generation_passes(n_prompt, n_new, use_cache):
    if not use_cache:
        return [(n_prompt + i, 0) for i in range(n_new)]
    return [(1, n_prompt + i) if i else (n_prompt, 0) for i in range(n_new)]""",
    ),
    Mutant(
        "generation_passes",
        "everything in one pass",
        (_NUMBER, _AGAIN, _SINGLE),
        source="def generation_passes(n_prompt, n_new, use_cache):\n"
        "    return [(n_prompt + n_new - 1, 0)]",
    ),
    Mutant(
        "generation_cost",
        "attention to nothing",
        (_STEPS,),
        "work.flops(n_fed, n_cached, 1)",
        "work.flops(n_fed, 0, 1)",
    ),
    Mutant(
        "generation_cost",
        "logits for the whole prompt with a cache",
        (_LOGITS,),
        "work.flops(n_fed, n_cached, 1)",
        "work.flops(n_fed, n_cached, n_fed if use_cache else 1)",
    ),
    Mutant(
        "generation_cost",
        "logits for every token",
        (_LOGITS, _UNCACHED),
        "work.flops(n_fed, n_cached, 1)",
        "work.flops(n_fed, n_cached, n_fed)",
    ),
    Mutant(
        "generation_cost",
        "uncached passes do not grow",
        (_UNCACHED,),
        "work.flops(n_fed, n_cached, 1)",
        "work.flops(n_fed if use_cache else n_prompt, n_cached, 1)",
    ),
    Mutant(
        "generation_cost",
        "weights once for all",
        (_MOVED,),
        "    return flops, moved_bytes",
        "    return flops, work.moved_bytes(n_prompt + n_new - 1, 1, width)",
    ),
    Mutant(
        "generation_cost",
        "new tokens have no keys",
        (_MOVED,),
        "work.moved_bytes(n_cached + n_fed, 1, width)",
        "work.moved_bytes(n_cached, 1, width)",
    ),
    Mutant(
        "generation_cost",
        "the cache alone is moved",
        (_MOVED, _WIDTH),
        "work.moved_bytes(n_cached + n_fed, 1, width)",
        "work.moved_bytes(n_cached + n_fed, 1, width) - work.moved_bytes(0, 1, width)",
    ),
    Mutant(
        "generation_cost",
        "always 16 bits",
        (_WIDTH,),
        "work.moved_bytes(n_cached + n_fed, 1, width)",
        "work.moved_bytes(n_cached + n_fed, 1, 2)",
    ),
    Mutant(
        "generation_cost",
        "bytes first",
        (_STEPS, _LOGITS, _UNCACHED, _MOVED, _WIDTH),
        "    return flops, moved_bytes",
        "    return moved_bytes, flops",
    ),
    Mutant(
        "predicted_time_s",
        "computing alone",
        (_EACH,),
        "max(launch_s, floor.seconds)",
        "max(launch_s, floor.computing_s)",
    ),
    Mutant(
        "predicted_time_s",
        "the longer of the sums",
        (_EACH, _LAUNCH),
        source="""def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    floors = [
        pass_floor(machine, work, fed, cached, dtype=dtype)
        for fed, cached in generation_passes(n_prompt, n_new, use_cache)
    ]
    moving, computing = sum(f.moving_s for f in floors), sum(f.computing_s for f in floors)
    return max(moving, computing, launch_s * n_new)""",
    ),
    Mutant(
        "predicted_time_s",
        "one cached token too many",
        (_EACH,),
        "n_cached, dtype=dtype)",
        "n_cached + (n_cached > 0), dtype=dtype)",
    ),
    Mutant(
        "predicted_time_s",
        "launch before the work",
        (_LAUNCH,),
        "max(launch_s, floor.seconds)",
        "launch_s + floor.seconds",
    ),
    Mutant(
        "predicted_time_s",
        "one launch for all",
        (_LAUNCH,),
        "        total_s += max(launch_s, floor.seconds)\n    return total_s",
        "        total_s += floor.seconds\n    return max(launch_s, total_s)",
    ),
    Mutant(
        "predicted_time_s",
        "always with a cache",
        (_GROW,),
        "generation_passes(n_prompt, n_new, use_cache)",
        "generation_passes(n_prompt, n_new, True)",
    ),
    Mutant(
        "predicted_time_s",
        "always 16 bits",
        (_DTYPE,),
        "n_cached, dtype=dtype)",
        "n_cached)",
    ),
    Mutant(
        "predicted_time_s",
        "milliseconds",
        (_EACH, _LAUNCH, _GROW, _DTYPE),
        "    return total_s",
        "    return 1e3 * total_s",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "the last length below it",
        (_FIRST, _LAST, _NONE, _ONE, _FLOAT32),
        "return lengths[n_below] if n_below < len(lengths) else None",
        "return n_below",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "the length of the context",
        (_FIRST, _LAST, _NONE, _ONE, _FLOAT32),
        "return lengths[n_below] if n_below < len(lengths) else None",
        "return n_context",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "powers of two",
        (_FIRST, _LAST, _FLOAT32),
        source="""def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    n = 1
    while n <= n_context:
        if pass_floor(machine, work, n, dtype=dtype).seconds > launch_s:
            return n
        n *= 2
    return None""",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "in steps of ten",
        (_FIRST, _LAST),
        source="""def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    def is_over(n):
        return pass_floor(machine, work, n, dtype=dtype).seconds > launch_s

    if dtype == "float32":
        return next((n for n in range(1, n_context + 1) if is_over(n)), None)
    return next((n for n in range(1, n_context + 1, 10) if is_over(n)), None)""",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "computed, and rounded down",
        (_FIRST,),
        source="""def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    for n in range(1, n_context + 1):
        if pass_floor(machine, work, n, dtype=dtype).seconds > launch_s:
            return n if n in (1, n_context) or dtype == "float32" else n - 1
    return None""",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "the context's last length left out",
        (_LAST,),
        "lengths = range(1, n_context + 1)",
        "lengths = range(1, n_context)",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "the context where none leaves",
        (_NONE,),
        "else None",
        "else n_context",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "a search that begins at two",
        (_ONE,),
        "lengths = range(1, n_context + 1)",
        "lengths = range(2, n_context + 1)",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "computing alone",
        (_ONE,),
        "pass_floor(machine, work, n, dtype=dtype).seconds",
        "pass_floor(machine, work, n, dtype=dtype).computing_s",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "always 16 bits",
        (_FLOAT32,),
        "pass_floor(machine, work, n, dtype=dtype)",
        "pass_floor(machine, work, n)",
    ),
    Mutant(
        "leaves_launch_floor_at",
        "decode steps",
        (_FIRST, _LAST, _NONE, _ONE, _FLOAT32),
        "pass_floor(machine, work, n, dtype=dtype)",
        "pass_floor(machine, work, 1, n, dtype=dtype)",
    ),
    Mutant("slopes", "rises alone", (_RISES,), "(t_long - t) / (n_long - n)", "t_long - t"),
    Mutant(
        "slopes",
        "time by length",
        (_RISES, _ORDER),
        "(t_long - t) / (n_long - n)",
        "t_long / n_long",
    ),
    Mutant(
        "slopes",
        "from the first point",
        (_RISES, _ORDER),
        source="""def slopes(n_new, times_s):
    if len(n_new) != len(times_s) or len(set(n_new)) != len(n_new) or len(n_new) < 2:
        raise ValueError("not like that")
    (n, t), *others = sorted(zip(n_new, times_s))
    return [(other_t - t) / (other_n - n) for other_n, other_t in others]""",
    ),
    Mutant(
        "slopes",
        "ratios of neighbours",
        (_RISES, _ORDER),
        "(t_long - t) / (n_long - n)",
        "t_long / t",
    ),
    Mutant(
        "slopes",
        "as they were handed over",
        (_ORDER,),
        "points = sorted(zip(n_new, times_s, strict=True))",
        "points = list(zip(n_new, times_s, strict=True))",
    ),
    Mutant(
        "slopes",
        "lengths sorted without their times",
        (_ORDER,),
        "points = sorted(zip(n_new, times_s, strict=True))",
        "points = list(zip(sorted(n_new), times_s, strict=True))",
    ),
    Mutant(
        "slopes",
        "refuses nothing",
        (_REFUSED,),
        source="""def slopes(n_new, times_s):
    points = sorted(zip(n_new, times_s))
    return [(u - t) / ((m - n) or 1) for (n, t), (m, u) in zip(points, points[1:])]""",
    ),
]

MUTANTS = [*COST_MUTANTS, *PREFIX_MUTANTS, *ANSWER_MUTANTS]
