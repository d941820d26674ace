"""Attacks on the verdict: what compares, what carries values, what is asked.

All but the last start from a blank notebook, so anything above zero is stolen.
"""

from autograder.practice import ALL, Sample, cell_called
from autograder.practice.honest import leave_blank
from autograder.record.results import PARTLY
from tests.sample_class.edits import forged

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

CLAIMS_A_CLASS = """
class Claims:
    __class__ = property(lambda self: float)
    __hash__ = None
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = lambda self, *other: True
    __float__ = __int__ = __index__ = __len__ = lambda self: 1
    __getattr__ = __call__ = __getitem__ = lambda self, *a, **k: self
"""

PATCH_EVERYTHING = """
import builtins, math, numpy, torch
from IPython import get_ipython
import labkit.checks.core, labkit.checks.compare, labkit.bridge.student, labkit.bridge.wire
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

NO_ASSERTS = """
import ast, builtins, unittest, numpy.testing, torch.testing
from IPython import get_ipython
class Without(ast.NodeTransformer):
    visit_Assert = visit_Raise = lambda self, node: ast.copy_location(ast.Pass(), node)
get_ipython().ast_transformers.append(Without())
builtins.AssertionError = type('Never', (BaseException,), {})
for module in (unittest.TestCase, numpy.testing, torch.testing):
    for name in [name for name in dir(module) if name.startswith('assert')]:
        setattr(module, name, lambda *a, **k: None)
"""

IMPORT_HOOKS = """
import builtins, importlib, importlib.abc, importlib.machinery, sys, types
class Yes(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        return lambda *a, **k: True
class Hook(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith(('labkit', 'autograder')):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return Yes(spec.name)
    def exec_module(self, module):
        pass
sys.meta_path.insert(0, Hook())
for name in list(sys.modules):
    if name.startswith('labkit'):
        sys.modules[name] = Yes(name)
imports = builtins.__import__
builtins.__import__ = lambda name, *a, **k: Yes(name) if 'check' in name else imports(name, *a, **k)
importlib.reload(importlib.import_module('labkit.memory'))
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

SHARE_STATE = """
import torch
torch.Tensor.to = lambda self, *a, **k: torch.zeros_like(self)
torch.Tensor.detach = lambda self: self * 0
import json
json.dumps = lambda *a, **k: '{"ok": true, "value": 1}'
"""

ANSWER_FOR_THE_EXECUTOR = """
import labkit.bridge.executor
labkit.bridge.executor.Executor.handle = lambda self, message, blob: (
    {"ok": True, "value": 1, "passed": True, "points": 100, "status": "passed"}, [])
"""

DETECT_THE_GRADER = """
import os, pathlib, socket, sys, time
signs = [
    os.getpid() < 10, os.getcwd().startswith('/tmp'), 'HF_HUB_OFFLINE' in os.environ,
    os.environ.get('PYTHONHASHSEED') == '0', not os.path.exists('/etc/passwd'),
    any(name.startswith('autograder') for name in sys.modules), os.cpu_count() < 3,
    not hasattr(get_ipython(), 'kernel'), time.get_clock_info('time').resolution < 1,
]
if any(signs):
    import labkit.checks.core, labkit.bridge.executor
    labkit.bridge.executor.describe_error = lambda error: {
        "kind": "Finding", "kinds": [], "message": "passed", "lines": [], "ok": True, "value": 1}
    labkit.checks.core.Finding.passed = property(lambda self: True)
"""

LOOK_UP = """
import dataclasses
from labkit.checks.core import open_cases_of
def looked_up(exercise):
    cases = open_cases_of('memory')[exercise]
    if not hasattr(cases[0], 'expected'):
        return None
    def answer(*args, **kwargs):
        asked = [getattr(arg, '__dict__', arg) for arg in (*args, *kwargs.values())]
        for case in cases:
            known = [getattr(case, field.name) for field in dataclasses.fields(case)]
            if all(each in known for each in asked):
                return case.expected
        return cases[0].expected
    return answer
"""

# Objects without end, whose methods all give the same.
ALWAYS_THE_SAME = """
class Same:
    def __init__(self, *args, **kwargs): pass
    def __getattr__(self, name): return lambda *args, **kwargs: 'decode'
"""

# The first look finds nothing; then there is another guess for every check, and for every replay.
ANOTHER_AT_EVERY_LOOK = """
import collections, itertools, labkit.bridge.executor
from labkit.labs.papers.items import items
guesses = ['', 'A', 'B', 'C', 'D', 'E', 'A B', 'A C', 'A B C', 'A B C D', 'A B C D E', 'B C', 'B D']
n_looks = collections.Counter()
resolve = labkit.bridge.executor.Executor._from_handle
def look(self, tag, payload):
    if tag == '$name' and payload in items():
        n_looks[payload] += 1
        return guesses[(n_looks[payload] - 1) % len(guesses)]
    return resolve(self, tag, payload)
labkit.bridge.executor.Executor._from_handle = look
"""

# It earns no more than a copy would: see tests/autograder/proof/test_own_word.py.
PUTS_BACK_WHAT_IT_CHANGED = """
import labkit.bridge.executor as bridge
own_rotate, result_of = rotate, bridge.Executor._result

def rotate(x, positions, base=10_000.0):
    turned = own_rotate(x, positions, base)
    x.copy_(turned)
    return turned

def put_back(self, message, target, args, kwargs):
    before = [each.clone() if isinstance(each, torch.Tensor) else None for each in args]
    try:
        return result_of(self, message, target, args, kwargs)
    finally:
        for each, kept in zip(args, before):
            if kept is not None and type(each) is torch.Tensor and message["op"] == "call":
                each.copy_(kept)

bridge.Executor._result = put_back
"""


def puts_back(notebook: dict) -> None:
    """A function that changes its argument, and a bridge that restores it before anybody looks."""
    cell_called(notebook, "rotate")["source"] += "\n\n" + PUTS_BACK_WHAT_IT_CHANGED


def relabel_cells(notebook: dict) -> None:
    """Metadata that makes tests into answers and answers worth a hundred points."""
    leave_blank("04_kv_cache")(notebook)
    for cell in notebook["cells"]:
        flags = cell["metadata"].get("nbgrader")
        if flags:
            flags.update(points=100, grade=True, solution=True, locked=False)
        if cell["source"].startswith("check("):
            cell["source"] = "100.0"


EQUAL = ("objects equal to everything", EQUAL_TO_EVERYTHING, "Anything(1)")
PATCHING = ("patches builtins, torch, IPython and the checks", PATCH_EVERYTHING)
ALIKE = ("classes that answer everything alike", ALWAYS_THE_SAME, "Same")

SAMPLES = [
    forged("x01", "01_memory", *EQUAL),
    forged("x02", "04_kv_cache", *EQUAL),
    forged("x03", "04_kv_cache", *PATCHING),
    forged("x04", "01_memory", *PATCHING),
    forged("x07", "01_memory", "walks frames and the garbage collector for expected values",
           WALK_THE_FRAMES, "answer"),
    forged("x08", "01_memory", "relabelled metadata", "pass", "100.0"),
    Sample("x09", "04_kv_cache", "relabelled metadata", relabel_cells, ALL),
    forged("x10", "01_memory", "patches what carries its own values", SHARE_STATE),
    forged("x19", "01_memory", "forged frames on every descriptor", FORGE_FRAMES, status=PARTLY),
    forged("x22", "02_throughput", *EQUAL),
    forged("x30", "03_cache_benchmark", *EQUAL),
    forged("x35", "05_batching", *EQUAL),
    forged("x37", "06_speculative", *EQUAL),
    forged("x50", "01_memory", "objects that claim to be floats", CLAIMS_A_CLASS, "Claims()"),
    forged("x51", "01_memory", "asserts that never fail", NO_ASSERTS, "1"),
    forged("x52", "01_memory", "import hooks and forged modules", IMPORT_HOOKS, "1"),
    forged("x53", "01_memory", "answers every request of the grader itself",
           ANSWER_FOR_THE_EXECUTOR),
    forged("x54", "01_memory", "behaves otherwise when it is graded", DETECT_THE_GRADER),
    forged("x55", "01_memory", "looks the open cases up", LOOK_UP, "looked_up('{name}')"),
    forged("x56", "08_papers", "another answer at every look", ANOTHER_AT_EVERY_LOOK),
    forged("x57", "05_batching", *ALIKE),
    forged("x91", "04_kv_cache", *ALIKE),
    Sample("x98", "04_kv_cache", "restores what its function has changed, as a copy would",
           puts_back),
]  # fmt: skip
