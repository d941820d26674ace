"""Wrong answers of lab 02, as students give them: the timer, generation, the sweep."""

from autograder.labs.mutants import Mutant
from autograder.labs.throughput.mutants.answers import ANSWERS
from autograder.labs.throughput.mutants.rates import RATES

_WARM = "warm_up_runs_come_first_and_are_not_timed"
_BEGINS = "the_device_is_idle_when_a_sample_begins"
_ENDS = "the_device_is_idle_when_a_sample_ends"
_RAW = "samples_are_raw_one_per_run"
_REFUSED = "counts_that_time_nothing_are_refused"

_FIRST_SYNC = "        wait_for_device()\n        start_s"
_SECOND_SYNC = "        run()\n        wait_for_device()"
_APPEND = "samples_s.append(read_clock() - start_s)"
_RETURN = "return samples_s"
_WARMUP_LOOP = "for _ in range(n_warmup):"
_REPEATS_LOOP = "for _ in range(n_repeats):"

TIMER = [
    Mutant("time_runs", "no warm-up", (_WARM,), _WARMUP_LOOP, "for _ in range(0):"),
    Mutant("time_runs", "one run more", (_WARM,), _WARMUP_LOOP, "for _ in range(n_warmup + 1):"),
    Mutant(
        "time_runs",
        "the warm-up is kept",
        (_WARM,),
        source="""\
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    found = []
    for _ in range(n_warmup + n_repeats):
        synchronize()
        start = read_clock()
        run()
        synchronize()
        found.append(read_clock() - start)
    return found
""",
    ),
    Mutant("time_runs", "not synchronised before", (_BEGINS,), _FIRST_SYNC, "        start_s"),
    Mutant(
        "time_runs",
        "synchronised after the first reading",
        (_BEGINS,),
        "        wait_for_device()\n        start_s = read_clock()",
        "        start_s = read_clock()\n        wait_for_device()",
    ),
    Mutant(
        "time_runs",
        "not synchronised after",
        (_ENDS,),
        _SECOND_SYNC,
        "        run()",
    ),
    Mutant(
        "time_runs",
        "synchronised after the second reading",
        (_ENDS,),
        source="""\
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    for _ in range(n_warmup):
        run()
    found = []
    for _ in range(n_repeats):
        synchronize()
        start = read_clock()
        run()
        end = read_clock()
        synchronize()
        found.append(end - start)
    return found
""",
    ),
    Mutant(
        "time_runs",
        "never synchronised",
        (_BEGINS, _ENDS),
        source="""\
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    for _ in range(n_warmup):
        run()
    found = []
    for _ in range(n_repeats):
        start = read_clock()
        run()
        found.append(read_clock() - start)
    return found
""",
    ),
    Mutant("time_runs", "the mean of all", (_RAW,), _RETURN, "return [sum(samples_s) / n_repeats]"),
    Mutant(
        "time_runs",
        "the mean, as often",
        (_RAW,),
        _RETURN,
        "return [sum(samples_s) / n_repeats] * n_repeats",
    ),
    Mutant(
        "time_runs",
        "the mean, as a tensor",
        (_RAW,),
        _RETURN,
        "return torch.tensor(samples_s).mean()",
    ),
    Mutant("time_runs", "sorted", (_RAW,), _RETURN, "return sorted(samples_s)"),
    Mutant(
        "time_runs",
        "milliseconds",
        (_RAW,),
        _APPEND,
        "samples_s.append(1000 * (read_clock() - start_s))",
    ),
    Mutant("time_runs", "the first sample dropped", (_RAW,), _RETURN, "return samples_s[1:]"),
    Mutant(
        "time_runs",
        "outliers dropped",
        (_RAW,),
        _RETURN,
        "return [s for s in samples_s if s < max(samples_s)] or samples_s",
    ),
    Mutant(
        "time_runs",
        "one reading around all runs",
        (_WARM, _BEGINS, _ENDS, _RAW),
        source="""\
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    for _ in range(n_warmup):
        run()
    synchronize()
    start = read_clock()
    for _ in range(n_repeats):
        run()
    synchronize()
    return [(read_clock() - start) / n_repeats] * n_repeats
""",
    ),
    Mutant(
        "time_runs",
        "nothing is refused",
        (_REFUSED,),
        "if n_warmup < 0 or n_repeats < 1:",
        "if False:",
    ),
    Mutant(
        "time_runs",
        "a negative warm-up is taken for none",
        (_REFUSED,),
        "if n_warmup < 0 or n_repeats < 1:",
        "if n_repeats < 1:",
    ),
    Mutant(
        "time_runs",
        "refused too late",
        (_REFUSED,),
        source="""\
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    for _ in range(n_warmup):
        run()
    found = []
    for _ in range(n_repeats):
        synchronize()
        start = read_clock()
        run()
        synchronize()
        found.append(read_clock() - start)
    if n_warmup < 0 or not found:
        raise ValueError("nothing timed")
    return found
""",
    ),
    Mutant(
        "time_runs",
        "the machine's own clock",
        (_WARM, _BEGINS, _ENDS, _RAW, _REFUSED),
        source="""\
import time

def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    found = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        found.append(time.perf_counter() - start)
    return found
""",
    ),
]

_ALONE = "the_new_tokens_alone_come_back"
_END = "end_of_text_cannot_end_a_run"
_SEEN = "every_token_of_the_prompt_is_seen"
_GREEDY = "decoding_is_greedy"
_PROMPT = "the_prompt_goes_in_unchanged"

_LEAST = '"min_new_tokens": n_new, '
_MASK = ", attention_mask=everything"
_ARGMAX = ", do_sample=False"
_SLICE = "return generated[:, tokens.shape[1] :]"

GENERATION = [
    Mutant("generate_fixed", "the prompt comes back too", (_ALONE,), _SLICE, "return generated"),
    Mutant(
        "generate_fixed",
        "the first n_new columns",
        (_ALONE,),
        _SLICE,
        "return generated[:, :n_new]",
    ),
    Mutant(
        "generate_fixed",
        "one token too few",
        (_ALONE,),
        _SLICE,
        "return generated[:, tokens.shape[1] + 1 :]",
    ),
    Mutant(
        "generate_fixed",
        "the first sequence only",
        (_ALONE,),
        _SLICE,
        "return generated[:1, tokens.shape[1] :]",
    ),
    Mutant("generate_fixed", "a largest length alone", (_END,), _LEAST, ""),
    Mutant(
        "generate_fixed",
        "a smallest length that counts the prompt",
        (_END,),
        '"min_new_tokens": n_new',
        '"min_length": n_new',
    ),
    Mutant(
        "generate_fixed",
        "one token less is enough",
        (_END,),
        '"min_new_tokens": n_new',
        '"min_new_tokens": n_new - 1',
    ),
    Mutant(
        "generate_fixed",
        "padded up to the length",
        (_END,),
        source="""\
def generate_fixed(model, tokens, n_new):
    made = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=n_new, do_sample=False
    )[:, tokens.shape[1] :]
    return torch.nn.functional.pad(made, (0, n_new - made.shape[1]))
""",
    ),
    Mutant("generate_fixed", "no attention mask", (_SEEN,), _MASK, ""),
    Mutant(
        "generate_fixed",
        "a mask made from the padding",
        (_SEEN,),
        "torch.ones_like(tokens)",
        "(tokens != model.config.pad_token_id).long()",
    ),
    Mutant("generate_fixed", "samples, as the model's settings say", (_GREEDY,), _ARGMAX, ""),
    Mutant(
        "generate_fixed", "beams", (_GREEDY,), "do_sample=False", "do_sample=False, num_beams=4"
    ),
    Mutant(
        "generate_fixed",
        "without a cache",
        (_GREEDY,),
        "do_sample=False",
        "do_sample=False, use_cache=False",
    ),
    Mutant(
        "generate_fixed",
        "the prompt's last token again",
        (_PROMPT,),
        "generate(tokens,",
        "generate(tokens.clone().fill_(0),",
    ),
    Mutant(
        "generate_fixed",
        "padding replaced in the prompt",
        (_PROMPT,),
        "generate(tokens,",
        "generate(tokens.masked_fill(tokens == model.config.pad_token_id, 0),",
    ),
    Mutant(
        "generate_fixed",
        "tries a second time",
        (_ALONE, _END, _SEEN, _GREEDY, _PROMPT),
        source="""\
def generate_fixed(model, tokens, n_new):
    for _ in range(2):
        made = model.generate(
            tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=n_new,
            min_new_tokens=n_new, do_sample=False,
        )
    return made[:, tokens.shape[1] :]
""",
    ),
    Mutant(
        "generate_fixed",
        "random tokens, no model",
        (_ALONE, _END, _SEEN, _GREEDY, _PROMPT),
        source="""\
def generate_fixed(model, tokens, n_new):
    return torch.randint(40, (tokens.shape[0], n_new))
""",
    ),
]

_ORDER = "each_point_is_measured_once_in_order"
_AT_ONCE = "each_row_is_saved_before_the_next_point"
_OOM = "out_of_memory_is_a_row_and_the_sweep_goes_on"
_FREED = "memory_is_freed_once_the_exception_is_gone"
_DONE = "finished_points_are_skipped"
_OTHERS = "other_errors_pass_through"


def swept(loop: str, before: str = "", after: str = "") -> str:
    """A sweep around a loop's body."""
    return f"""\
def sweep(points, measure, save, free_memory, done=()):
{before}    for point in points:
        if point in done:
            continue
{loop}{after}"""


_TRY = """\
        failed = False
        try:
            samples = measure(point)
        except MemoryError:
            failed = True
"""

SWEEP = [
    Mutant(
        "sweep", "smallest first", (_ORDER,), "for point in points:", "for point in sorted(points):"
    ),
    Mutant(
        "sweep",
        "samples averaged",
        (_ORDER,),
        'measure(point), "ok"',
        '[statistics.fmean(measure(point))], "ok"',
    ),
    Mutant(
        "sweep",
        "measured twice, the second kept",
        (_ORDER, _AT_ONCE),
        'measure(point), "ok"',
        '(measure(point), measure(point))[1], "ok"',
    ),
    Mutant(
        "sweep",
        "another word for a row that is fine",
        (_ORDER, _OOM),
        'measure(point), "ok"',
        'measure(point), "done"',
    ),
    Mutant(
        "sweep",
        "saved at the end",
        (_AT_ONCE, _OTHERS),
        source=swept(
            _TRY + '        rows.append((point, [], "out of memory") if failed '
            'else (point, samples, "ok"))\n'
            "        if failed:\n            free_memory()\n",
            "    rows = []\n",
            "    for row in rows:\n        save(*row)\n",
        ),
    ),
    Mutant(
        "sweep",
        "saved at the end, whatever happens",
        (_AT_ONCE,),
        source="""\
def sweep(points, measure, save, free_memory, done=()):
    rows = []
    try:
        for point in points:
            if point in done:
                continue
            failed = False
            try:
                rows.append((point, measure(point), "ok"))
            except MemoryError:
                failed = True
            if failed:
                free_memory()
                rows.append((point, [], "out of memory"))
    finally:
        for row in rows:
            save(*row)
""",
    ),
    Mutant(
        "sweep",
        "stops where memory ends",
        (_OOM, _FREED),
        source=swept(
            _TRY + '        if failed:\n            save(point, [], "out of memory")\n'
            "            break\n"
            '        save(point, samples, "ok")\n'
        ),
    ),
    Mutant(
        "sweep",
        "no row without memory",
        (_OOM,),
        source=swept(
            _TRY + "        if failed:\n            free_memory()\n            continue\n"
            '        save(point, samples, "ok")\n'
        ),
    ),
    Mutant(
        "sweep",
        "zero seconds where memory ends",
        (_OOM,),
        '[], "out of memory"',
        '[0.0], "out of memory"',
    ),
    Mutant(
        "sweep", "called ok where memory ends", (_OOM, _FREED), '[], "out of memory"', '[], "ok"'
    ),
    Mutant(
        "sweep",
        "freed inside except",
        (_FREED,),
        source=swept("""\
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError:
            samples, outcome = [], "out of memory"
            free_memory()
        save(point, samples, outcome)
"""),
    ),
    Mutant(
        "sweep",
        "the exception is kept for later",
        (_FREED,),
        source=swept("""\
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError as error:
            samples, outcome = [], "out of memory"
            last_error = error
        save(point, samples, outcome)
        if outcome != "ok":
            free_memory()
"""),
    ),
    Mutant("sweep", "never freed", (_FREED,), "            free_memory()", "            pass"),
    Mutant(
        "sweep",
        "freed once, at the end",
        (_FREED,),
        source=swept(
            _TRY + '        save(point, [] if failed else samples, "out of memory" if failed '
            'else "ok")\n',
            after="    free_memory()\n",
        ),
    ),
    Mutant("sweep", "everything again", (_DONE,), "if point in done:", "if False:"),
    Mutant(
        "sweep",
        "skips as many as are done",
        (_DONE,),
        source="""\
def sweep(points, measure, save, free_memory, done=()):
    for point in list(points)[len(done) :]:
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError:
            samples, outcome = [], "out of memory"
        save(point, samples, outcome)
        if outcome != "ok":
            free_memory()
""",
    ),
    Mutant(
        "sweep",
        "stops at the first that is done",
        (_DONE,),
        "            continue\n",
        "            break\n",
    ),
    Mutant(
        "sweep",
        "any error is taken for too little memory",
        (_OTHERS,),
        "except MemoryError:",
        "except Exception:",
    ),
    Mutant(
        "sweep",
        "takes torch's other errors for a lack of memory",
        (_OTHERS,),
        "except MemoryError:",
        "except (MemoryError, RuntimeError):",
    ),
    Mutant(
        "sweep",
        "any error ends the sweep quietly",
        (_OTHERS,),
        source="""\
def sweep(points, measure, save, free_memory, done=()):
    for point in points:
        if point in done:
            continue
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError:
            samples, outcome = [], "out of memory"
        except Exception:
            return
        save(point, samples, outcome)
        if outcome != "ok":
            free_memory()
""",
    ),
    Mutant(
        "sweep",
        "goes on after any error, and raises it at the end",
        (_OTHERS,),
        source="""\
def sweep(points, measure, save, free_memory, done=()):
    broken = None
    for point in points:
        if point in done:
            continue
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError:
            samples, outcome = [], "out of memory"
        except Exception as error:
            broken = error
            continue
        save(point, samples, outcome)
        if outcome != "ok":
            free_memory()
    if broken is not None:
        raise broken
""",
    ),
    Mutant("sweep", "nothing is caught", (_OOM, _FREED), "except MemoryError:", "except KeyError:"),
]

MUTANTS = TIMER + GENERATION + SWEEP + RATES + ANSWERS
