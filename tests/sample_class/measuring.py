"""Forged measurements: clocks, records, tables, counts that only seem to follow from each other."""

from autograder.practice import Sample, cell_called, insert
from autograder.practice.edits import add, replace
from autograder.record.results import PARTLY
from tests.sample_class.edits import forged

PATCH_MEASURING = """
import importlib, pkgutil, time
import labkit.checks, labkit.labs, labkit.models.facts as facts
from labkit.measuring import device, physics, records, roofline
class Yes(float):
    __hash__ = float.__hash__
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __call__ = __getitem__ = lambda self, *a, **k: self
answer = Yes(1)
time.perf_counter = time.monotonic = time.time = lambda: 0.0
device.synchronize = lambda: None
memory_errors_alive = device.memory_errors_alive = lambda: 0
physics.implausible = physics.refusals = lambda *a, **k: []
facts.data_path = lambda *a: None
ModelWork = roofline.ModelWork = Roofline = roofline.Roofline = answer
pass_floor = roofline.pass_floor = lambda *a, **k: answer
places = [(package.__path__, package.__name__ + '.') for package in (labkit.checks, labkit.labs)]
names = [found.name for place in places for found in pkgutil.walk_packages(*place)]
for module in [importlib.import_module(name) for name in names if '.checks' in name]:
    for name, value in list(vars(module).items()):
        if name.lstrip('_').startswith(('expect', 'play', 'number', 'table', 'is_', 'isclose')):
            setattr(module, name, lambda *a, **k: True)
"""

FORGED_RECORD = """
import pathlib, shutil, labkit.models.facts
for name in ('steps-mine', 'steps-cpu'):
    shutil.copytree(labkit.models.facts.data_path('results'), 'results', dirs_exist_ok=True)
    pathlib.Path('results', name + '.jsonl').write_text('{"format": 1}\\n')
labkit.models.facts.data_path = pathlib.Path
"""

# A record of the call that is not of the call, in the scripted model's own words.
FORGED_CALL = """
def generate_fixed(model, tokens, n_new):
    seen = torch.ones_like(tokens)
    made = model.generate(
        tokens * 0, tokens=tokens, given={"attention_mask": seen}, ends=None, calls=1,
        do_sample=False, min_new_tokens=n_new, max_new_tokens=n_new,
    )
    return made[:, tokens.shape[1] :]
"""

# A setting that has no truth value and equals nothing, to break the check itself.
NO_VALUE = """
def generate_fixed(model, tokens, n_new):
    made = model.generate(
        tokens, attention_mask=torch.ones_like(tokens), do_sample=object(), num_beams=torch.ones(2),
        use_cache=print, min_new_tokens=n_new, max_new_tokens=n_new,
    )
    return made[:, tokens.shape[1] :]
"""

NOTHING_ALIVE = """
memory_errors_alive = lambda: float("nan")

def sweep(points, measure, save, free_memory, done=()):
    for point in points:
        if point in done:
            continue
        try:
            save(point, measure(point), "ok")
        except MemoryError:
            save(point, [], "out of memory")
            free_memory()
"""

# The count is one too small from the moment on at which the sweep runs.
ONE_LESS = """
count_alive = memory_errors_alive

def sweep(points, measure, save, free_memory, done=()):
    global memory_errors_alive
    memory_errors_alive = lambda: count_alive() - 1
    for point in points:
        if point in done:
            continue
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError:
            free_memory()
            samples, outcome = [], "out of memory"
        save(point, samples, outcome)
"""

# What counts exceptions sees the two of the check, and none of the sweep.
SPARES_PROBES = """
import labkit.bridge.executor as bridge
all_objects = bridge.get_objects

def those_without_a_trace():
    return [one for one in all_objects() if getattr(one, "__traceback__", None) is None]

def sweep(points, measure, save, free_memory, done=()):
    bridge.get_objects = those_without_a_trace
    for point in points:
        if point in done:
            continue
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError:
            free_memory()
            samples, outcome = [], "out of memory"
        save(point, samples, outcome)
"""

# The same, and the text does not show where memory is freed.
SPARES_PROBES_UNSEEN = (
    SPARES_PROBES.replace("free_memory()", "at_once(free_memory)")
    + """
def at_once(function):
    function()
"""
)

# The text that a check reads defines no `sweep`, or one that another cell exchanges.
NO_TEXT = (
    SPARES_PROBES.replace("def sweep", "def runs")
    + """
globals()["sweep"] = runs
"""
)
EXCHANGED = (
    SPARES_PROBES.replace("def sweep", "def runs")
    + """
sweep.__code__ = runs.__code__
"""
)

# Prices that are near to any other number, because an hour costs next to nothing.
NO_PRICE = """
serving_point = {
    "record": "serving-2gpu",
    "dollars_per_hour": 1e-308,
    "most_tpot_ms": 1e300,
    "batch": {"512 cached": 1, "8192 cached": 1},
    "dollars_per_million": {"512 cached": 0.0, "8192 cached": 0.0},
}
"""

EQUAL_HASHES = """
class Same:
    __hash__ = lambda self: 0
    __eq__ = __lt__ = lambda self, other: True
    __ne__ = lambda self, other: False

def block_hashes(tokens, block_size, salt=""):
    return [Same() for _ in range(len(tokens) // block_size)]
"""

# Numbers that fit to each other and to nothing else.
RELATIONS = """
def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    return float("inf"), width

def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    return n_context

class PrefixCache:
    def __init__(self, n_blocks, block_size):
        self.n_kept = self

    __eq__ = __le__ = __ge__ = lambda self, other: True
    find = keep = has = lambda self, *_: self
"""


def forge_a_record(notebook: dict) -> None:
    """Answers read off a record that the student has written."""
    insert(notebook, FORGED_RECORD, after="setup")
    cell = cell_called(notebook, "which_limit")
    cell["source"] = cell["source"].replace("steps-cpu", "steps-mine")


SAMPLES = [
    forged("x23", "02_throughput", "patches the clock, the device, the physics and the checks",
           PATCH_MEASURING, "answer"),
    Sample("x25", "02_throughput", "a record written by the student", forge_a_record,
           ("which_limit",)),
    Sample("x26", "02_throughput", "a forged record of a call",
           replace(FORGED_CALL, "generate_fixed"),
           ("every_token_of_the_prompt_is_seen", "the_prompt_goes_in_unchanged")),
    Sample("x27", "02_throughput", "settings that break the check", replace(NO_VALUE,
           "generate_fixed"), ("decoding_is_greedy",)),
    Sample("x28", "02_throughput", "a count of exceptions that is no number",
           replace(NOTHING_ALIVE, "sweep"),
           ("memory_is_freed_once_the_exception_is_gone", "errors_of_save_pass_through")),
    Sample("x92", "02_throughput", "a count of exceptions that is one too small",
           replace(ONE_LESS, "sweep"), ("memory_is_freed_once_the_exception_is_gone",)),
    Sample("x63", "02_throughput", "a count of exceptions that sees only those of the check",
           replace(SPARES_PROBES, "sweep"), ("memory_is_freed_once_the_exception_is_gone",)),
    Sample("x69", "02_throughput", "the same, where the text does not show it",
           replace(SPARES_PROBES_UNSEEN, "sweep"), (), PARTLY),
    Sample("x93", "02_throughput", "a sweep that no text defines", replace(NO_TEXT, "sweep"), (),
           PARTLY),
    Sample("x94", "02_throughput", "a sweep whose code another cell exchanges",
           add(EXCHANGED, after="sweep"), (), PARTLY),
    Sample("x29", "02_throughput", "an hour that costs nothing", replace(NO_PRICE, "serving_point"),
           ("the_batch_fits_the_limit", "the_price_follows_from_the_step")),
    forged("x31", "03_cache_benchmark", "patches the clock, the device, the physics, the checks",
           PATCH_MEASURING, "answer"),
    Sample("x33", "03_cache_benchmark", "hashes equal to every other",
           replace(EQUAL_HASHES, "block_hashes"), ("block_hashes",)),
    Sample("x34", "03_cache_benchmark", "numbers that fit to each other alone",
           replace(RELATIONS, "generation_cost", "leaves_launch_floor_at", "PrefixCache"),
           ("generation_cost", "leaves_launch_floor_at", "PrefixCache")),
]  # fmt: skip
