"""Right answers of lab 02, written otherwise."""

from autograder.labs.throughput.mutants.answers import report, table, three, which, without_rows
from autograder.labs.variants import Variant

TIMER = [
    Variant(
        "time_runs",
        "other names, a tuple, one loop",
        """\
def time_runs(work, now, wait, cold, kept):
    if cold < 0 or kept <= 0:
        raise ValueError(f"{cold} and {kept} are no counts")
    found = ()
    for i in range(cold + kept):
        wait()
        if i < cold:
            work()
            continue
        start = now()
        work()
        wait()
        found += (now() - start,)
    return found
""",
    ),
    Variant(
        "time_runs",
        "one reading ends a sample and begins the next",
        """\
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    for _ in range(n_warmup):
        run()
        synchronize()
    synchronize()
    readings = [read_clock()]
    while len(readings) <= n_repeats:
        run()
        synchronize()
        readings.append(read_clock())
    return numpy.diff(readings)
""",
    ),
    Variant(
        "time_runs",
        "an inner function, a tensor",
        """\
def time_runs(run, read_clock, synchronize, n_warmup=1, n_repeats=3):
    if not (n_warmup >= 0 and n_repeats > 0):
        raise ValueError("counts")

    def once():
        synchronize()
        synchronize()
        begin = read_clock()
        run()
        synchronize()
        return read_clock() - begin

    [run() for _ in range(n_warmup)]
    return torch.tensor([once() for _ in range(n_repeats)], dtype=torch.float64)
""",
    ),
    Variant(
        "time_runs",
        "warm-up timed and thrown away",
        """\
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if min(n_warmup, n_repeats - 1) < 0:
        raise ValueError("counts")
    samples = list()
    for _ in range(n_warmup + n_repeats):
        synchronize()
        t0 = read_clock()
        run()
        synchronize()
        t1 = read_clock()
        samples.append(t1 - t0)
    return samples[n_warmup:]
""",
    ),
]
GENERATION = [
    Variant(
        "generate_fixed",
        "by keyword, a mask of full ones, the last columns",
        """\
def generate_fixed(model, tokens, n_new):
    with torch.inference_mode():
        made = model.generate(
            inputs=tokens,
            attention_mask=torch.full(tokens.shape, 1, dtype=torch.long),
            max_new_tokens=n_new,
            min_new_tokens=n_new,
            do_sample=False,
            num_beams=1,
            use_cache=True,
        )
    return made[:, -n_new:]
""",
    ),
    Variant(
        "generate_fixed",
        "lengths that count the prompt",
        """\
def generate_fixed(model, tokens, n_new):
    total = tokens.shape[1] + n_new
    mask = torch.ones(tokens.shape, dtype=torch.bool)
    made = model.generate(
        input_ids=tokens, attention_mask=mask, min_length=total, max_length=total, do_sample=False
    )
    return made[:, tokens.shape[-1] :]
""",
    ),
    Variant(
        "generate_fixed",
        "an end-of-text token that no model makes",
        """\
def generate_fixed(model, tokens, n_new):
    settings = dict(max_new_tokens=n_new, eos_token_id=-1, do_sample=False, temperature=None)
    everything = model.generate(tokens, attention_mask=torch.ones_like(tokens), **settings)
    return everything.narrow(1, tokens.size(1), n_new)
""",
    ),
    Variant(
        "generate_fixed",
        "no end-of-text token at all",
        """\
def generate_fixed(model, tokens, n_new):
    kept = model.generate(
        tokens, attention_mask=tokens * 0 + 1, max_new_tokens=n_new, eos_token_id=None,
        do_sample=False,
    )
    return torch.split(kept, [tokens.shape[1], n_new], dim=1)[1]
""",
    ),
    Variant(
        "generate_fixed",
        "a GenerationConfig",
        """\
from transformers import GenerationConfig

def generate_fixed(model, tokens, n_new):
    config = GenerationConfig(max_new_tokens=n_new, min_new_tokens=n_new, do_sample=False)
    output = model.generate(
        tokens, generation_config=config, attention_mask=torch.ones_like(tokens)
    )
    return output[:, tokens.shape[1] :]
""",
    ),
]
SWEEP = [
    Variant(
        "sweep",
        "else and a flag",
        """\
def sweep(points, measure, save, free_memory, done=()):
    for point in points:
        if point not in done:
            failed = False
            try:
                samples = measure(point)
            except MemoryError:
                failed = True
            else:
                save(point, samples, "ok")
            if failed:
                free_memory()
                save(point, [], "out of memory")
""",
    ),
    Variant(
        "sweep",
        "an inner function returns a row, done as a set, tuples for samples",
        """\
def sweep(points, measure, save, free_memory, done=frozenset()):
    finished = {tuple(each) for each in done}

    def row_of(point):
        try:
            return tuple(measure(point)), "ok"
        except MemoryError:
            return (), "out of memory"

    for point in list(points):
        if tuple(point) in finished:
            continue
        samples, outcome = row_of(point)
        save(point, samples, outcome)
        if outcome == "out of memory":
            free_memory()
""",
    ),
    Variant(
        "sweep",
        "filtered first, the exception let go by hand, memory freed before every point",
        """\
def sweep(points, measure, save, free_memory, done=()):
    for point in filter(lambda each: each not in done, points):
        free_memory()
        caught = None
        try:
            samples = measure(point)
        except MemoryError as error:
            caught = error
        if caught is None:
            save(point, samples, "ok")
        else:
            caught = None
            free_memory()
            save(point, [], "out of memory")
""",
    ),
]
RATES = [
    Variant("tokens_per_s", "NumPy", """\
def tokens_per_s(batch_size, n_new, samples_s):
    samples = numpy.asarray(samples_s, dtype=float)
    if samples.size == 0:
        raise ValueError("no samples")
    return n_new * batch_size / numpy.median(samples)
"""),
    Variant("tokens_per_s", "a generator of rates and their median", """\
def tokens_per_s(batch_size, n_new, samples_s):
    rates = sorted(batch_size * n_new / each for each in samples_s)
    if not rates:
        raise ValueError("no samples")
    return rates[len(rates) // 2]
"""),
    Variant("tokens_per_s", "lets statistics refuse", """\
def tokens_per_s(batch_size, n_new, samples_s):
    return batch_size * n_new / statistics.median(samples_s)
"""),
    Variant("tokens_per_s", "torch", """\
def tokens_per_s(batch_size, n_new, samples_s):
    if len(list(samples_s)) < 1:
        raise ValueError("no samples")
    return torch.tensor(float(batch_size * n_new), dtype=torch.float64) / torch.tensor(
        samples_s, dtype=torch.float64
    ).median()
"""),
    Variant("fit_steps", "least squares by hand, a list", """\
def fit_steps(n_new, times_s):
    steps = [n - 1 for n in n_new]
    mean_n, mean_t = sum(steps) / len(steps), sum(times_s) / len(steps)
    spread = sum((n - mean_n) ** 2 for n in steps)
    if spread == 0:
        raise ValueError("one length")
    step = sum((n - mean_n) * (t - mean_t) for n, t in zip(steps, times_s)) / spread
    return [mean_t - step * mean_n, step]
"""),
    Variant("fit_steps", "lstsq, an array", """\
def fit_steps(n_new, times_s):
    if min(n_new) == max(n_new):
        raise ValueError("one length")
    matrix = numpy.stack([numpy.ones(len(n_new)), numpy.array(n_new) - 1.0], axis=1)
    return numpy.linalg.lstsq(matrix, numpy.array(times_s), rcond=None)[0]
"""),
    Variant("fit_steps", "torch in single precision", """\
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    matrix = torch.stack([torch.ones(len(n_new)), torch.tensor(n_new) - 1.0], dim=1)
    return torch.linalg.lstsq(matrix, torch.tensor(times_s)[:, None]).solution.flatten()
"""),
    Variant("fit_steps", "statistics.linear_regression, read off at one token", """\
def fit_steps(n_new, times_s):
    if len({*n_new}) == 1:
        raise ValueError("one length")
    line = statistics.linear_regression(n_new, times_s)
    return line.intercept + line.slope, line.slope
"""),
    Variant("limit_of", "ifs", """\
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    if moving_s > step_s or computing_s > step_s:
        raise ValueError(f"{step_s} s cannot be")
    launching_s = launch_s_per_layer * n_layers
    if launching_s > moving_s and launching_s > computing_s:
        return "launch"
    return "memory" if moving_s > computing_s else "compute"
"""),
    Variant("limit_of", "a sorted list, capitals", """\
def limit_of(step_s, layers, launch, moving_s, computing_s):
    if not step_s >= max(moving_s, computing_s):
        raise ValueError("faster than the floor")
    ranked = sorted([(layers * launch, "Launch"), (moving_s, "Memory"), (computing_s, "Compute")])
    return ranked[-1][1]
"""),
    Variant("limit_of", "argmax", """\
def limit_of(step_s, n_layers, launch_s_per_layer, moving_s, computing_s):
    times = numpy.array([n_layers * launch_s_per_layer, moving_s, computing_s])
    if (times[1:] > step_s).any():
        raise ValueError("below a floor")
    return ("launch", "memory", "compute")[int(times.argmax())]
"""),
]  # fmt: skip
ANSWERS = [
    Variant("which_limit", "computed, in capitals", which().upper().replace(
        "WHICH_LIMIT", "which_limit").replace("'RECORD': 'THROUGHPUT-CPU'",
        "'record': 'throughput-cpu.jsonl'").replace("DECODE_SMALL_MODEL", "decode_small_model")
        .replace("DECODE_MEDIUM_MODEL", "decode_medium_model").replace("PREFILL_LONGEST",
        "prefill_longest").replace("FORWARD_ONE", "forward_one").replace("FORWARD_SIXTEEN",
        "forward_sixteen")),
    Variant("which_limit", "as it is", which()),
    Variant("which_limit", "with more beside it", which().rstrip("}") + ", 'note': 'measured'}"),
    Variant("three_models", "all digits", three()),
    Variant("three_models", "rounded up a little, a tuple", three(1.02, without=("older",))),
    Variant("three_models", "one name instead of a list", three(0.98, without="older")),
    Variant("my_table", "another table", table({1: 0.0312, 4: 0.081}, again=(4, 0.1))),
    Variant("my_table", "a card of the handout", table(on_h100=True, again=(16, 0.5))),
    Variant("my_table", "whole numbers, a slow machine", table(
        {1: 1, 4: 3, 16: 8, 64: 30, 256: 121}, again=(64, 33))),
    Variant("my_table", "a card that is not in the table", table(
        on_h100=True, again=(16, 0.5), run={"machine": "Another GPU", "model": "Qwen/Qwen3-1.7B"})),
    Variant("my_table", "a name as the driver has it", table(
        on_h100=True, again=(16, 0.5), run={"machine": "NVIDIA H100 80GB HBM3"})),
    Variant("my_table", "a dtype that the card emulates", table(
        {n: 0.4 * n for n in (1, 4, 16, 64, 256)}, again=(16, 6.1),
        run={"model": "Qwen/Qwen3-1.7B", "machine": "T4", "dtype": "bfloat16"})),
    Variant("my_table", "the longest rows did not run", without_rows(64, 256, again=(16, 0.2))),
    Variant("my_table", "after a long prompt", table(
        {1: 5.21, 4: 5.26, 16: 5.45, 64: 6.31, 256: 9.52}, again=(64, 6.5), n_input=2048)),
    Variant("my_table", "two digits, and the same ones again", table({64: 0.51}, again=(64, 0.51))),
    Variant("my_table", "noise among the short ones", table({1: 0.070, 4: 0.063})),
    Variant("flawed_report", "as it is", report()),
    Variant("flawed_report", "small letters", report().replace("'A'", "'a'").replace("'H'", "'h'")),
    Variant("flawed_report", "spaces", report().replace("'Q'", "' Q '")),
]  # fmt: skip

VARIANTS = TIMER + GENERATION + SWEEP + RATES + ANSWERS
