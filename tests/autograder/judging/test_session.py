"""A submission's run has an end, its answers stay what they are, no check pays for another."""

import pytest
from instances import some_of

from autograder.intake.steps import Step
from autograder.judging.ends import StudentEnded, UsedUp
from autograder.judging.jobs import Limits
from autograder.judging.session import MAX_RESTARTS, Session
from autograder.judging.wall import strongest_rung
from labkit.bridge.requests import value_of
from labkit.bridge.student import StudentError
from labkit.bridge.wire import WireError

ANOTHER_AT_EVERY_LOOK = """
import itertools, labkit.bridge.executor
q01 = q02 = 'A'
looks, resolve = itertools.count(), labkit.bridge.executor.Executor._from_handle
def look(self, tag, payload):
    return {answer} if payload == 'q01' else resolve(self, tag, payload)
labkit.bridge.executor.Executor._from_handle = look
"""


def call(name, *args):
    return lambda student: getattr(student, name)(*args)


def test_checks_that_are_each_in_time_end_together(run):
    source = "import time\ndef slow():\n    time.sleep(0.25)\n    return 1"
    session = run(source, submission_s=0.6)
    with pytest.raises(UsedUp, match=r"used up its 0\.6 s"):
        for _ in range(10):
            with session.deadline():
                session.in_fork(call("slow"))
    assert session.problems == [
        "the submission used up its 0.6 s, so the checks that were left are not decided"
    ]


def test_cells_that_end_their_process_are_not_replayed_for_ever(run):
    cells = ("import os, time\ntime.sleep(0.2)", "os._exit(1)", "os._exit(2)", "x = 1")
    session = run(*cells, submission_s=0.3)
    with pytest.raises(UsedUp):
        session.in_fork(call("abs"))
    assert session.spent_s < 1


@pytest.mark.parametrize("answer", ["str(next(looks))", "('A', object(), next(looks))"])
def test_an_answer_is_the_same_at_every_look(run, answer):
    session = run(ANOTHER_AT_EVERY_LOOK.format(answer=answer))
    session.look_at({"q01": "", "q02": ""})
    for _ in range(2):
        with pytest.raises(WireError, match="`q01` was something else"):
            session.in_fork(lambda student: value_of(student.q01))
        assert session.in_fork(lambda student: value_of(student.q02)) == "A"


SWEEP = "def sweep(n): return n"


@pytest.mark.parametrize(
    ("later", "is_known"),
    [
        ("rows = [sweep(3), sweep(n=4)]", True),
        ("check('sweep')\ncheck.why('sweep')", True),
        ("sweep = print", False),
        ("sweep.__code__ = (lambda n: 0).__code__", False),
        ("globals()['sweep'] = print", False),
        ("exchange(sweep)", False),
        ("import kept\nkept.sweep = print", False),
        ("sweep?", False),
    ],
)
def test_a_text_is_known_if_no_later_cell_does_more_than_call_what_it_defines(later, is_known):
    steps = [Step(SWEEP, 0), Step(later, 1, keeps=("sweep",)), Step("sweep.n = 1", 2)]
    text = Session(None, steps, {}, Limits()).text_of("sweep")
    assert (text == SWEEP) == is_known
    assert Session(None, steps[1:], {}, Limits()).text_of("runs") == ""


def test_objects_in_an_answer_do_not_make_it_another(run):
    session = run("answer = {'value': 1, 'note': print}")
    session.look_at({"answer": "", "missing": ""})
    for _ in range(2):
        assert session.in_fork(lambda student: value_of(student.answer))["value"] == 1


def test_what_a_check_does_to_an_answer_another_does_not_see(run):
    session = run("answer = [1]\ndef spoil():\n    answer.append(2)")
    session.look_at({"answer": ""})
    session.in_fork(call("spoil"))
    assert session.in_fork(lambda student: value_of(student.answer)) == [1]


def test_an_answer_that_ends_the_process_costs_no_other(run):
    session = run(
        ANOTHER_AT_EVERY_LOOK.format(answer="__import__('os')._exit(0)"), "def one(): return 1"
    )
    session.look_at({"q01": "", "q02": ""})
    assert session.in_fork(call("one")) == 1


def test_an_answer_that_ends_the_first_look_has_no_later_value(run):
    """Else it could wait for what checks tell the process, and so could the answers after it."""
    session = run(
        ANOTHER_AT_EVERY_LOOK.replace("== 'q01'", "in ('q01', 'q02')").format(
            answer="'B' if os.getpid() != main else os._exit(0)"
        )
        + "import os\nmain = os.getpid()"
    )
    session.look_at({"q01": "", "q02": ""})
    for name in ("q01", "q02"):
        with pytest.raises(WireError, match=f"`{name}` was something else"):
            session.in_fork(lambda student, name=name: value_of(getattr(student, name)))


def test_long_replies_use_up_the_time_of_a_check(run):
    session = run("def much():\n    return bytes(2 << 20)")

    def ask_again_and_again(student):
        with session.deadline():
            for _ in range(50):
                student.much()

    with pytest.raises(StudentEnded, match="together took too long"):
        session.in_fork(ask_again_and_again)


def test_checks_run_in_place_when_the_student_has_left_no_descriptor_free(run):
    session = run(
        "held = []\nwhile True:\n    try:\n        held.append(open('/dev/null'))\n"
        "    except OSError:\n        break\ndef one(): return 1"
    )
    assert [session.in_fork(call("one")) for _ in range(2)] == [1, 1]
    assert session.problems == []


def test_endless_recursion_is_told_before_the_cells_time_is_up(run):
    session = run("def again(n):\n    return again(n + 1)\nagain(0)")
    (error,) = session.results[0].outputs
    assert error.ename == "RecursionError"
    assert session.results[0].ended == ""
    assert "    return again(n + 1)" in error.traceback


def test_a_student_keeps_to_the_slots_processor_and_ends_first_when_memory_runs_out(run):
    session = run(
        "import os\nscore = open('/proc/self/oom_score_adj').read()\n"
        "def spread(): os.sched_setaffinity(0, range(os.cpu_count()))"
    )
    with pytest.raises(StudentError, match="PermissionError"):
        session.in_fork(call("spread"))
    assert session.in_fork(lambda student: value_of(student.score)) == "1000\n"


@pytest.mark.parametrize("function", [int, {}.__getitem__, lambda n: 1 // 0, lambda n: n.shape])
def test_nonsense_given_to_a_function_of_the_checks_is_the_students_slip(run, function):
    session = run("def rewind(back):\n    back(float('inf'))")
    with pytest.raises(StudentError):
        session.in_fork(lambda student: student.rewind(function))


def test_cells_that_no_answer_needs_do_not_use_up_the_time_of_answers(run):
    slow = "import time\ntime.sleep(0.6)"
    cells = [Step(slow, 0, False), Step("half = 0.5", 1, False), Step(slow, 2, False),
             Step("def f(): return half", 3)]  # fmt: skip
    session = run(*cells, cells_s=0.4)
    assert session.in_fork(call("f")) == 0.5
    assert session.problems == [
        "cell 3 did not run: the cells that no answer needs used up their 0.4 s"
    ]


def test_an_exercise_has_the_names_that_stood_after_its_cell(run):
    cells = [
        Step(
            "import math\nlength = 2\ndef f(): return math.sqrt(length) + more()", 0, True, ("f",)
        ),
        Step("math = None\nlength = 9\ndef more(): return 1", 1, False),
        Step("def g(): return length", 2, True, ("g",)),
        Step("%reset -f", 3, False),
    ]
    session = run(*cells)

    def play(student):
        found = {}
        for name in ("g", "f", "g"):
            with session.deadline(name):
                found[name] = getattr(student, name)()
        return found

    assert session.in_fork(play) == {"f": 2**0.5 + 1, "g": 9}


LATER = {  # what a cell below an answer may do to it
    "every builtin": "import builtins\n"
        "globals().update({name: None for name in dir(builtins) if name[0] != '_'})",
    "builtins themselves": "import builtins\nbuiltins.len = builtins.sum = builtins.max = print",
    "the names' builtins": "__builtins__ = {}",
    "the checker": "import labkit.bridge.executor as e\nimport labkit.bridge.wire as w\n"
        "check = print = Executor = Student = Wrong = None\ne.value_of = w.encode = None",
    "numpy": "from numpy import *",
    "torch": "from torch import *",
    "math": "from math import *\nfrom random import *",
    "a loop": "max = 0\nfor sum in range(3): max += sum",
    "reset": "%reset -f",
    "modules": "torch = math = 5",
    "in modules": "torch.exp = math.sqrt = torch.Tensor.__add__ = torch.Tensor.__eq__ = None\n"
        "del math.floor",
    "in more modules": "import functools, itertools, collections\n"
        "functools.partial = itertools.islice = collections.deque = None",
    "what torch does to numbers": "torch.autocast('cpu').__enter__()",
    "what torch does to calls": "class Zeros(torch.overrides.TorchFunctionMode):\n"
        "    def __torch_function__(self, *_): return 0\nZeros().__enter__()",
    "what torch dispatches": "from torch.utils._python_dispatch import TorchDispatchMode\n"
        "class Zeros(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, f, *_): return torch.ops.aten.zeros.default([])\n"
        "Zeros().__enter__()",
    "the table of modules": "import sys\nsys.modules['math'] = sys.modules['random'] = None\n"
        "sys.modules['torch'] = 1",
    "a module's class": "import math, types\nclass Closed(types.ModuleType):\n"
        "    def __setattr__(self, *_): 1 / 0\nmath.sqrt = None\nmath.__class__ = Closed",
    "the code of functions": "f.__code__ = (lambda: 0).__code__\nf.__defaults__ = (0,)\n"
        "Store.put.__code__ = (lambda self: 0).__code__",
    "classes": "def wrong(*_): return None\nStore.put = Store.__init__ = wrong\n"
        "Store.__getattribute__ = wrong\nStore.n = property(wrong)",
    "settings": "import sys, warnings, numpy\ntorch.set_default_dtype(torch.float64)\n"
        "torch.set_default_device('meta')\ntorch.set_grad_enabled(False)\n"
        "sys.setrecursionlimit(60)\nwarnings.simplefilter('error')\nnumpy.seterr(all='raise')",
}  # fmt: skip
SHOWN = ("builtins themselves", "the names' builtins", "the checker", "reset", "in modules",
         "what torch dispatches", "settings")  # fmt: skip
ANSWER = """
import collections, functools, itertools, math, torch, warnings, numpy
length = 3
class Store:
    n = 0
    def __init__(self): self.items = []
    def put(self, item): self.items.append(item); self.n += 1; return self.n
def f(depth=200):
    if depth:
        return f(depth - 1)
    warnings.warn("a warning is no error")
    numpy.float64(1) / numpy.float64(0)
    x = torch.exp(torch.zeros(length, requires_grad=True)) + 1
    x.sum().backward()
    assert not bool((x == 3).any())
    assert (x @ torch.eye(length)).dtype is x.dtype
    numbers = [int(math.sqrt(4)), math.floor(2.5), *range(length)]
    again = functools.partial(collections.deque, maxlen=9)
    assert numbers == [*again(itertools.islice(numbers, 9))]
    store = Store()
    assert (store.put(3), store.put(4), store.items) == (1, 2, [3, 4])
    import random, math as again
    assert again.sqrt(4) == 2 and random.randrange(1) == 0
    return [x.tolist(), str(x.dtype), sum(numbers), max(numbers), len(numbers), abs(-1), id is id]
"""


@pytest.mark.parametrize("later", some_of(LATER, *SHOWN))
def test_no_later_cell_changes_what_an_answer_does(run, later):
    session = run(
        Step(ANSWER, 0, True, ("f",)),
        Step(LATER[later], 1, False),
        cell_s=20,
        check_s=5,
        cells_s=60,
    )

    def play(student):
        with session.deadline("f"):
            return student.f()

    for _ in range(2):
        assert session.in_fork(play) == [[2, 2, 2], "torch.float32", 7, 2, 5, 1, True]


def test_no_later_cell_changes_the_items_of_an_answer_above_it(run):
    session = run(
        Step("table = {'a': 1, 'b': [2, {3}], 'c': (4,)}\nsame = table", 0, True, ("table",)),
        Step("table['b'][1].add(5)\nsame['a'] *= 1000\ndel table['c']", 1, False),
    )
    session.look_at({"table": "table"})

    def play(student):
        with session.deadline("table"):
            return value_of(student.table)

    for _ in range(2):
        assert session.in_fork(play) == {"a": 1, "b": [2, {3}], "c": (4,)}


def test_a_method_that_a_later_cell_adds_may_be_used_above(run):
    session = run(
        Step("class Store:\n    def twice(self): return 2 * self.once()", 0, True, ("Store",)),
        Step("def once(self): return 21\nStore.once = once", 1, False),
        Step("def f(): return Store().twice()", 2, True, ("f",)),
    )

    def play(student):
        with session.deadline("Store"):
            first = student.f()
        with session.deadline("f"):
            return first, student.f()

    assert session.in_fork(play) == (42, 42)


def test_the_cell_that_should_have_bound_a_name_says_why_it_did_not(run):
    session = run(
        "x = 1\ndef f(:\n    pass", "import no_such_module", "import time\ny = time.sleep(9)"
    )
    assert session.why_unbound("f") == (
        "cell 1 should define it, but ended with SyntaxError: invalid syntax (line 2)"
    )
    assert session.why_unbound("no_such_module").startswith(
        "cell 2 should define it, but ended with ModuleNotFoundError: "
        "No module named 'no_such_module' (line 1); a cell can import "
    )
    assert session.why_unbound("y") == (
        "cell 3 should define it, but was stopped: it took longer than 2 s"
    )
    assert session.why_unbound("z") == ""
    assert len(session.notes) == 2


STOPPED_IMPORT = """
import pathlib, sys
sys.path.insert(0, '')
pathlib.Path('half').mkdir()
pathlib.Path('half/part.py').write_text('value = 1')
pathlib.Path('half/__init__.py').write_text('''
import sys, half.part
if not hasattr(sys, 'again'):
    sys.again = True
    raise KeyboardInterrupt
value = half.part.value
''')
import half
"""


def test_a_package_whose_import_was_stopped_can_be_imported_again(run):
    session = run(STOPPED_IMPORT, "def value():\n    import half\n    return half.value")
    assert session.in_fork(call("value")) == 1


def test_what_a_check_has_written_is_gone_for_the_next(run):
    source = (
        "import os\nopen('mine', 'w').close()\n"
        "def looks():\n    open('seen', 'a').write('x')\n    return os.path.getsize('seen')"
    )
    session = run(source)
    session.look_at({})
    for _ in range(3):
        assert session.is_ready_again()
        assert session.in_fork(call("looks")) == 1


def test_memory_that_forks_share_is_not_taken_for_a_clean_disk(run):
    session = run(
        "import mmap\nshared = mmap.mmap(-1, 1)\nshared[0] = 0\n"
        "def looks():\n    shared[0] += 1\n    return shared[0]"
    )
    session.look_at({})
    assert session.in_fork(call("looks")) == 1
    for _ in range(MAX_RESTARTS):
        assert session.is_ready_again()
        assert session.in_fork(call("looks")) == 1
    assert not session.is_ready_again()
    assert session.in_fork(call("looks")) == 2


@pytest.mark.skipif(strongest_rung() != "namespaces", reason="nothing is mounted")
def test_what_is_mounted_on_the_disk_is_not_searched_for_what_a_check_has_written(run, packages):
    session = run(f"import os\ndef looks():\n    return os.path.exists('{packages}/new')")
    session.look_at({})
    before = session._child.files_digest()
    (packages / "new").touch()
    assert session.in_fork(call("looks"))
    assert before and session._child.files_digest() == before
