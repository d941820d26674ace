"""Attacks: on the verdict, on what is secret, on the machine. Each gets what it honestly earned.

Those that forge start from a blank notebook, so anything above zero is stolen. Those that break
start from a solved one: the rest of the notebook keeps its marks.
"""

from __future__ import annotations

from autograder.cheats import ALL, Edit, Sample, cell_called, insert
from autograder.cheats.honest import leave_blank
from autograder.results import PARTLY, UNGRADABLE

EQUAL_TO_EVERYTHING = """
class Anything(int):
    __hash__ = int.__hash__
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __getattr__(self, name): return Anything(1)
    def __call__(self, *a, **k): return Anything(1)
    def __class__(self): return float
    def __len__(self): return 1
    def __getitem__(self, i): return Anything(1)
"""

PATCH_EVERYTHING = """
import builtins, math, numpy, torch
from IPython import get_ipython
import labkit.checks, labkit.checks.core, labkit.checks.compare, labkit.student, labkit.wire
yes = lambda *a, **k: True
builtins.isinstance_, builtins.abs, builtins.all, builtins.any = isinstance, lambda x: 0, yes, yes
math.isclose = yes
torch.equal = torch.allclose = numpy.allclose = numpy.array_equal = yes
torch.Tensor.__eq__ = lambda a, b: torch.ones(())
torch.Tensor.any = lambda *a, **k: torch.zeros((), dtype=torch.bool)
for module in (labkit.checks.core, labkit.checks.compare):
    for name in dir(module):
        if name.startswith(('expect', 'play')):
            setattr(module, name, lambda *a, **k: None)
labkit.checks.core.Finding.passed = property(yes)
labkit.checks.core.Wrong = labkit.checks.core.Unfinished = type('Never', (Exception,), {})
shell = get_ipython()
shell.ast_transformers.clear()
shell.events.register('post_run_cell', lambda *a: shell.user_ns.update(score=100))
shell.input_transformers_cleanup.append(lambda lines: ['pass\\n'])
"""

IMPORT_THE_ANSWER = """
import importlib, inspect, pathlib, sys
import labkit.{topic} as answers
for name, value in vars(answers).items():
    if not name.startswith('_'):
        globals()[name] = value
sys.path[:0] = ['/srv/labkit', '/src', '/repo', '..', '../..']
for module in ('autograder.cases.{topic}', 'autograder.mutants.{topic}', 'autograder.judge'):
    try:
        globals().update(vars(importlib.import_module(module)))
    except Exception as error:
        print(error)
for root in [*sys.path, '/', '/root', '/home', '/tmp', '/proc/1/cwd', '/proc/1/root']:
    for pattern in ('{topic}.py', 'labkit/{topic}.py', '*/labkit/{topic}.py', '*/*/{topic}.py'):
        for path in pathlib.Path(root or '.').glob(pattern):
            try:
                exec(path.read_text(), globals())
            except Exception as error:
                print(path, error)
"""

READ_AND_PHONE = """
import glob, os, socket, subprocess, urllib.request
found = []
for pattern in ('/etc/passwd', '/root/*', '/home/*/*', '/tmp/*/*', '/var/*/*', '/proc/*/environ',
                '/proc/*/cmdline', '/proc/*/mem', '../*', '/*/gradebook.db', '/*/*/seed'):
    for path in glob.glob(pattern)[:100]:
        try:
            found.append(open(path, 'rb').read(1000))
        except OSError:
            pass
for host in ('127.0.0.1', '10.0.0.1', 'localhost'):
    for port in (22, 80, 443, 8888):
        try:
            socket.create_connection((host, port), 0.2).sendall(b'hello')
        except OSError as error:
            print(error)
print(subprocess.run('id; env; ls -la / /work; cat /proc/1/environ', shell=True,
                     capture_output=True, text=True).stdout)
"""

WALK_THE_FRAMES = """
import gc, sys
def answer(*args, **kwargs):
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            for name in ('expected', 'accepted', 'answer', 'case'):
                if hasattr(value, name):
                    return getattr(value, name)
        frame = frame.f_back
    for thing in gc.get_objects():
        if type(thing).__name__.endswith('Case') and hasattr(thing, 'expected'):
            return thing.expected
    return 1
"""

FORGE_FRAMES = """
import json, os, struct
def frame(message):
    data = json.dumps(message).encode()
    return struct.pack('<IQ', len(data), 0) + data
forged = frame({"ok": True, "value": 1, "id": 0, "passed": True, "points": 100}) * 50
for fd in range(3, 300):
    try:
        os.write(fd, forged)
    except OSError:
        pass
"""

LONE_SURROGATE = """
import labkit.executor
labkit.executor.Executor._to_handle = lambda self, value: {
    "$handle": [self._held.append(value) or len(self._held) - 1, "\\ud800", False]}
class Odd(Exception):
    def __str__(self): return "\\ud800\\u2028<script>alert(1)</script>"
def answer(*args, **kwargs):
    raise Odd()
"""

SHARE_STATE = """
import torch
torch.Tensor.to = lambda self, *a, **k: torch.zeros_like(self)
torch.Tensor.detach = lambda self: self * 0
import json
json.dumps = lambda *a, **k: '{"ok": true, "value": 1}'
"""

PATCH_MEASURING = """
import importlib, pkgutil, time
import labkit.checks, labkit.device, labkit.facts, labkit.physics, labkit.records, labkit.roofline
class Yes(float):
    __hash__ = float.__hash__
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __call__ = __getitem__ = lambda self, *a, **k: self
answer = Yes(1)
time.perf_counter = time.monotonic = time.time = lambda: 0.0
labkit.device.synchronize = lambda: None
memory_errors_alive = labkit.device.memory_errors_alive = lambda: 0
labkit.physics.implausible = labkit.physics.refusals = lambda *a, **k: []
labkit.facts.data_path = lambda *a: None
ModelWork = labkit.roofline.ModelWork = Roofline = labkit.roofline.Roofline = answer
pass_floor = labkit.roofline.pass_floor = lambda *a, **k: answer
for found in pkgutil.iter_modules(labkit.checks.__path__, 'labkit.checks.'):
    module = importlib.import_module(found.name)
    for name, value in list(vars(module).items()):
        if name.lstrip('_').startswith(('expect', 'play', 'number', 'table', 'is_', 'isclose')):
            setattr(module, name, lambda *a, **k: True)
"""

FORGED_RECORD = """
import pathlib, shutil, labkit.facts
for name in ('throughput-mine', 'throughput-cpu'):
    shutil.copytree(labkit.facts.data_path('results'), 'results', dirs_exist_ok=True)
    pathlib.Path('results', name + '.jsonl').write_text('{"format": 1}\\n')
labkit.facts.data_path = pathlib.Path
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

# Times so short that tokens per second are infinite, and near to any other number.
NO_TIME = """
my_table = {
    "run": {"model": "tiny-target", "machine": "CPU", "dtype": "float32"},
    "batch_size": 1_000_000,
    "n_input": 64,
    "rows": {
        f"{n} new": {"time_s": (n + 4) * 1e-308, "tokens_per_s": 123.0} for n in (1, 4, 16, 64, 256)
    },
    "again": {"n_new": 64, "time_s": 68e-308},
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

def longest_cached_prefix(hashes, cached, n_tokens, block_size):
    return block_size * 10**90
"""

MEMORY_BOMB = (  # little of it is touched: a slow machine sees it go off in time
    "import numpy\nhoard = [bytearray(1 << 28)]\n"
    "while True:\n    hoard.append(numpy.empty(1 << 30, dtype='uint8'))"
)
FORK_BOMB = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
FILL_THE_DISK = (
    "with open('big', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))"
)
EXIT = "import os\nos._exit(0)"
KILL_ALL = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(-1, signal.SIGKILL)"
DEAF_LOOP = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    pass"


def forge(lab: str, code: str, answer: str = "") -> Edit:
    """A blank notebook with this code in front, and every answer replaced by an expression."""

    def edit(notebook: dict) -> None:
        from autograder.builder.source import find_lab

        leave_blank(lab)(notebook)
        insert(notebook, code, after="setup")
        for cell in find_lab(lab).marked if answer else ():
            cell_called(notebook, cell.name)["source"] = f"{cell.name} = {answer}"

    return edit


def replace(code: str, *names: str) -> Edit:
    """A solved notebook with this code in the first of these cells, and nothing in the others."""

    def edit(notebook: dict) -> None:
        for name in names:
            cell_called(notebook, name)["source"] = code if name == names[0] else "pass"

    return edit


def forge_a_record(notebook: dict) -> None:
    """Answers read off a record that the student has written."""
    insert(notebook, FORGED_RECORD, after="setup")
    for name in ("three_models", "which_limit"):
        cell = cell_called(notebook, name)
        cell["source"] = cell["source"].replace("throughput-cpu", "throughput-mine")


def add(code: str, after: str | None = None) -> Edit:
    """A solved notebook with this code somewhere in it."""
    return lambda notebook: insert(notebook, code, after=after)


def exit_in_answer(notebook: dict) -> None:
    """One exercise that ends the process."""
    cell_called(notebook, "tokens_processed")["source"] = (
        "def tokens_processed(n_prompt, n_new, cached):\n    import os\n    os._exit(0)"
    )


def deep_json(notebook: dict) -> bytes:
    """JSON nested deeper than any parser likes."""
    return b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"


ASK_THE_SCRIPT = """
import gc

def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    scripts = [each for each in gc.get_objects() if type(each).__name__ == '_Scripted']
    text = list(prompt)
    while len(text) < len(prompt) + n_new:
        row = distribution(target.feed(text[target.n_cached():])[-1], temperature, top_k, top_p)
        row = row.tolist()
        text.append(scripts[0].source.choose(row) if scripts else row.index(max(row)))
        if text[-1] == eos:
            break
    return text[len(prompt):]
"""


def relabel_cells(notebook: dict) -> None:
    """Metadata that makes tests into answers and answers worth a hundred points."""
    leave_blank("04_kv_cache")(notebook)
    for cell in notebook["cells"]:
        flags = cell["metadata"].get("nbgrader")
        if flags:
            flags.update(points=100, grade=True, solution=True, locked=False)
        if cell["source"].startswith("check("):
            cell["source"] = "100.0"


SAMPLES = [
    Sample("x01", "01_memory", "objects equal to everything",
           forge("01_memory", EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x02", "04_kv_cache", "objects equal to everything",
           forge("04_kv_cache", EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x03", "04_kv_cache", "patches builtins, torch, IPython and the checks",
           forge("04_kv_cache", PATCH_EVERYTHING), ALL),
    Sample("x04", "01_memory", "patches builtins, torch, IPython and the checks",
           forge("01_memory", PATCH_EVERYTHING), ALL),
    Sample("x05", "04_kv_cache", "imports the answers",
           forge("04_kv_cache", IMPORT_THE_ANSWER.format(topic="kv_cache")), ALL),
    Sample("x06", "01_memory", "imports the answers",
           forge("01_memory", IMPORT_THE_ANSWER.format(topic="memory")), ALL),
    Sample("x07", "01_memory", "walks frames and the garbage collector for expected values",
           forge("01_memory", WALK_THE_FRAMES, "answer"), ALL),
    Sample("x08", "01_memory", "relabelled metadata", forge("01_memory", "pass", "100.0"), ALL),
    Sample("x09", "04_kv_cache", "relabelled metadata", relabel_cells, ALL),
    Sample("x10", "01_memory", "patches what carries its own values",
           forge("01_memory", SHARE_STATE), ALL),
    Sample("x11", "04_kv_cache", "reads files and tries the network", add(READ_AND_PHONE)),
    Sample("x12", "04_kv_cache", "os._exit in a cell", add(EXIT, "setup"), status=PARTLY),
    Sample("x13", "04_kv_cache", "os._exit in an answer", exit_in_answer, ("tokens_processed",)),
    Sample("x14", "04_kv_cache", "kills every process it can", add(KILL_ALL)),
    Sample("x15", "04_kv_cache", "a loop deaf to interrupts", add(DEAF_LOOP), status=PARTLY),
    Sample("x16", "04_kv_cache", "a memory bomb", add(MEMORY_BOMB)),
    Sample("x17", "01_memory", "a fork bomb", add(FORK_BOMB, "setup"), status=PARTLY),
    Sample("x18", "01_memory", "fills the disk", add(FILL_THE_DISK)),
    Sample("x19", "01_memory", "forged frames on every descriptor",
           forge("01_memory", FORGE_FRAMES), ALL, PARTLY),
    Sample("x21", "01_memory", "text that files and pages do not take",
           forge("01_memory", LONE_SURROGATE, "answer"), ALL),
    Sample("x20", "01_memory", "JSON nested too deeply", deep_json, ALL, UNGRADABLE),
    Sample("x22", "02_throughput", "objects equal to everything",
           forge("02_throughput", EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x23", "02_throughput", "patches the clock, the device, the physics and the checks",
           forge("02_throughput", PATCH_MEASURING, "answer"), ALL),
    Sample("x24", "02_throughput", "imports the answers",
           forge("02_throughput", IMPORT_THE_ANSWER.format(topic="throughput")), ALL),
    Sample("x25", "02_throughput", "a record written by the student", forge_a_record,
           ("three_models", "which_limit")),
    Sample("x26", "02_throughput", "a forged record of a call",
           replace(FORGED_CALL, "generate_fixed"),
           ("every_token_of_the_prompt_is_seen", "the_prompt_goes_in_unchanged")),
    Sample("x27", "02_throughput", "settings that break the check", replace(NO_VALUE,
           "generate_fixed"), ("decoding_is_greedy",)),
    Sample("x28", "02_throughput", "a count of exceptions that is no number",
           replace(NOTHING_ALIVE, "sweep"), ("memory_is_freed_once_the_exception_is_gone",)),
    Sample("x29", "02_throughput", "times so short that rates are infinite",
           replace(NO_TIME, "my_table"),
           ("throughput_follows_from_each_row", "no_row_is_faster_than_the_machine")),
    Sample("x30", "03_cache_benchmark", "objects equal to everything",
           forge("03_cache_benchmark", EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x31", "03_cache_benchmark", "patches the clock, the device, the physics, the checks",
           forge("03_cache_benchmark", PATCH_MEASURING, "answer"), ALL),
    Sample("x32", "03_cache_benchmark", "imports the answers",
           forge("03_cache_benchmark", IMPORT_THE_ANSWER.format(topic="cache_benchmark")), ALL),
    Sample("x33", "03_cache_benchmark", "hashes equal to every other",
           replace(EQUAL_HASHES, "block_hashes"), ("block_hashes",)),
    Sample("x34", "03_cache_benchmark", "numbers that fit to each other alone",
           replace(RELATIONS, "generation_cost", "leaves_launch_floor_at",
                   "longest_cached_prefix"),
           ("generation_cost", "leaves_launch_floor_at", "longest_cached_prefix")),
    Sample("x35", "05_batching", "objects equal to everything",
           forge("05_batching", EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x36", "05_batching", "imports the answers",
           forge("05_batching", IMPORT_THE_ANSWER.format(topic="batching")), ALL),
    Sample("x37", "06_speculative", "objects equal to everything",
           forge("06_speculative", EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x38", "06_speculative", "imports the answers",
           forge("06_speculative", IMPORT_THE_ANSWER.format(topic="speculative")), ALL),
    Sample("x39", "06_speculative", "asks the script for the target's own law",
           replace(ASK_THE_SCRIPT, "speculative"), ("speculative",)),
]  # fmt: skip
