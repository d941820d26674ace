"""Wrong answers of lab 02: tokens per second, the line through the times, the limit of a step."""

from autograder.labs.mutants import Mutant

_ALL = "all_sequences_count"
_MEDIAN = "the_median_run_counts"
_EMPTY = "no_samples_have_no_rate"
_RATE = "return batch_size * n_new / statistics.median(samples_s)"

_SLOPE = "a_step_is_the_slope"
_FIRST = "the_prefill_makes_the_first_token"
_SQUARES = "all_points_have_a_say"
_ONE = "one_length_determines_no_line"
_FIT = "step_s, prefill_s = numpy.polyfit(n_steps, numpy.asarray(times_s, dtype=float), 1)"

_LAUNCH = "many_layers_wait_for_launches"
_MEMORY = "many_bytes_wait_for_memory"
_COMPUTE = "many_products_wait_for_compute"
_FLOOR = "a_step_below_its_floor_is_refused"
_LONGEST = "return max(least_s, key=least_s.get)"

RATES = [
    Mutant(
        "tokens_per_s",
        "one sequence",
        (_ALL,),
        _RATE,
        "return n_new / statistics.median(samples_s)",
    ),
    Mutant(
        "tokens_per_s",
        "runs per second",
        (_ALL,),
        _RATE,
        "return batch_size / statistics.median(samples_s)",
    ),
    Mutant("tokens_per_s", "in thousands", (_ALL,), _RATE, _RATE + " / 1000"),
    Mutant("tokens_per_s", "the mean run", (_MEDIAN,), "statistics.median", "statistics.fmean"),
    Mutant(
        "tokens_per_s",
        "the mean of rates",
        (_MEDIAN,),
        _RATE,
        "return statistics.fmean(batch_size * n_new / each for each in samples_s)",
    ),
    Mutant(
        "tokens_per_s", "the best run", (_MEDIAN,), "statistics.median(samples_s)", "min(samples_s)"
    ),
    Mutant(
        "tokens_per_s", "the last run", (_MEDIAN,), "statistics.median(samples_s)", "samples_s[-1]"
    ),
    Mutant(
        "tokens_per_s",
        "0 for no samples",
        (_EMPTY,),
        source="""\
def tokens_per_s(batch_size, n_new, samples_s):
    if not samples_s:
        return 0.0
    return batch_size * n_new / statistics.median(samples_s)
""",
    ),
    Mutant(
        "tokens_per_s",
        "divides by nothing",
        (_EMPTY,),
        source="""\
def tokens_per_s(batch_size, n_new, samples_s):
    return batch_size * n_new / sorted(samples_s)[len(samples_s) // 2]
""",
    ),
    Mutant(
        "tokens_per_s",
        "seconds per token",
        (_ALL, _MEDIAN),
        _RATE,
        "return statistics.median(samples_s) / (batch_size * n_new)",
    ),
    Mutant("fit_steps", "the prefill read off at no token", (_FIRST,), ") - 1", ")"),
    Mutant("fit_steps", "half a step off", (_FIRST,), ") - 1", ") - 0.5"),
    Mutant(
        "fit_steps",
        "milliseconds",
        (_SLOPE, _FIRST, _SQUARES),
        "return float(prefill_s), float(step_s)",
        "return 1e3 * float(prefill_s), 1e3 * float(step_s)",
    ),
    Mutant(
        "fit_steps",
        "step first",
        (_SLOPE, _FIRST),
        "return float(prefill_s), float(step_s)",
        "return float(step_s), float(prefill_s)",
    ),
    Mutant(
        "fit_steps",
        "a step is a share of the whole run",
        (_SLOPE, _SQUARES),
        source="""\
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    step_s, prefill_s = numpy.polyfit(numpy.asarray(n_new, dtype=float) - 1, times_s, 1)
    return prefill_s, float(numpy.mean(numpy.divide(times_s, n_new)))
""",
    ),
    Mutant(
        "fit_steps",
        "the median difference per token counts as step",
        (_SLOPE,),
        source="""\
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    step_s, prefill_s = numpy.polyfit(numpy.asarray(n_new, dtype=float) - 1, times_s, 1)
    residuals = numpy.asarray(times_s) - prefill_s - step_s * (numpy.asarray(n_new) - 1)
    if numpy.abs(residuals).max() < 1e-9 * abs(prefill_s):
        step_s = step_s * 8  # per step of the batch
    return prefill_s, step_s
""",
    ),
    Mutant(
        "fit_steps",
        "the first and the last point",
        (_SQUARES,),
        source="""\
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    pairs = sorted(zip(n_new, times_s))
    (n_first, t_first), (n_last, t_last) = pairs[0], pairs[-1]
    step_s = (t_last - t_first) / (n_last - n_first)
    return t_first - (n_first - 1) * step_s, step_s
""",
    ),
    Mutant(
        "fit_steps",
        "the mean of slopes between neighbours",
        (_SQUARES,),
        source="""\
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    pairs = sorted(zip(n_new, times_s))
    slopes = [(t2 - t1) / (n2 - n1) for (n1, t1), (n2, t2) in zip(pairs, pairs[1:])]
    step_s = sum(slopes) / len(slopes)
    return pairs[0][1] - (pairs[0][0] - 1) * step_s, step_s
""",
    ),
    Mutant(
        "fit_steps",
        "one length is fitted all the same",
        (_ONE,),
        "if len(set(n_steps.tolist())) < 2:",
        "if False:",
    ),
    Mutant(
        "fit_steps",
        "counts points, not lengths",
        (_ONE,),
        "len(set(n_steps.tolist()))",
        "len(n_steps)",
    ),
    Mutant(
        "fit_steps",
        "forced through zero",
        (_FIRST, _SLOPE, _SQUARES),
        _FIT,
        "step_s, prefill_s = n_steps @ times_s / (n_steps @ n_steps), 0.0",
    ),
    Mutant(
        "limit_of",
        "one layer's launches",
        (_LAUNCH,),
        "n_layers * launch_s_per_layer",
        "launch_s_per_layer",
    ),
    Mutant(
        "limit_of",
        "launching does not count",
        (_LAUNCH,),
        _LONGEST,
        "return 'memory' if moving_s >= computing_s else 'compute'",
    ),
    Mutant(
        "limit_of",
        "memory under another name",
        (_MEMORY,),
        '"memory": moving_s',
        '"bandwidth": moving_s',
    ),
    Mutant(
        "limit_of",
        "compute under another name",
        (_COMPUTE,),
        '"compute": computing_s',
        '"arithmetic": computing_s',
    ),
    Mutant(
        "limit_of",
        "memory and compute mixed up",
        (_MEMORY, _COMPUTE),
        source="""\
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    if step_s < max(moving_s, computing_s):
        raise ValueError("too fast")
    launch_s = n_layers * launch_s_per_layer
    if launch_s > max(moving_s, computing_s):
        return "launch"
    return "compute" if moving_s > computing_s else "memory"
""",
    ),
    Mutant(
        "limit_of",
        "the shortest",
        (_LAUNCH, _MEMORY, _COMPUTE),
        _LONGEST,
        "return min(least_s, key=least_s.get)",
    ),
    Mutant(
        "limit_of",
        "the three times",
        (_LAUNCH, _MEMORY, _COMPUTE),
        _LONGEST,
        "return numpy.array(list(least_s.values()))",
    ),
    Mutant(
        "limit_of",
        "nothing is impossible",
        (_FLOOR,),
        "if step_s < max(moving_s, computing_s):",
        "if False:",
    ),
    Mutant(
        "limit_of",
        "memory cannot be beaten, computing can",
        (_FLOOR,),
        "if step_s < max(moving_s, computing_s):",
        "if step_s < moving_s:",
    ),
    Mutant(
        "limit_of",
        "computing cannot be beaten, memory can",
        (_FLOOR,),
        "if step_s < max(moving_s, computing_s):",
        "if step_s < computing_s:",
    ),
    Mutant(
        "limit_of",
        "below the floor is what the floor is",
        (_FLOOR,),
        source="""\
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    launch_s = n_layers * launch_s_per_layer
    names = {launch_s: "launch", moving_s: "memory", computing_s: "compute"}
    return names[max(names)]
""",
    ),
    Mutant(
        "limit_of",
        "launching cannot be beaten either",
        (_FLOOR,),
        "if step_s < max(moving_s, computing_s):",
        "if step_s < max(moving_s, computing_s, n_layers * launch_s_per_layer):",
    ),
    Mutant(
        "limit_of",
        "always launch",
        (_LAUNCH, _MEMORY, _COMPUTE, _FLOOR),
        source="def limit_of(*sizes):\n    return 'launch'\n",
    ),
]
