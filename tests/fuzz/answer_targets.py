"""Our own checks, played with odd answers: constants, results, and objects with odd methods.

What a student's object does when it is compared, hashed or asked for its truth is the student's: a
check of ours that breaks on it would be our error.
"""

from contextlib import redirect_stdout
from functools import cache
from io import StringIO

from check_targets import TOPICS, cases_by_check
from hypothesis import strategies as st

from autograder.builder.source import read_labs
from autograder.labs import right_of
from autograder.proof.matrix import namespace_of
from labkit.bridge.local import local_student
from labkit.checks.core import play_check

LABS = {lab.topic: lab for lab in read_labs()}

VALUES = """
    None ... NotImplemented True False 0 -1 1.5 -0.0 10**400 1j float("inf") float("nan") ""
    "right" "x"*1000 b"x" bytearray(2) memoryview(b"a") [] [[1]] [None] [True] {} {1} frozenset()
    (1,2) range(3) slice(1) iter([1]) zip([1],[2]) map(int,["1"]) type print (lambda:1)
    torch.zeros(2) torch.zeros(0) torch.zeros(()) torch.tensor(float("nan"))
    torch.zeros(2,dtype=torch.bool) torch.zeros(2,dtype=torch.complex64)
    torch.zeros(2,2).to_sparse() torch.empty(2,device="meta") torch.nn.Linear(1,1) torch.float32
    torch.Size([1]) torch.device("cpu") numpy.zeros(2) numpy.float16(1) numpy.array(["a"])
    numpy.array([None]) Decimal(1) Fraction(1,2) Path("x") Counter("aa") SimpleNamespace(a=1)
    datetime(2020,1,1) re.compile("x") type("T",(),{}) Odd Odd() [Odd()] (Odd(),Odd()) {Odd:1}
    {"a":Odd()}
""".split()  # fmt: skip
FORMS = (
    "{name} = {value}",
    "def {name}(*a, **k): return {value}",
    "def {name}(*a, **k): return a[0] if a else {value}",
    "def {name}(*a, **k): raise ValueError({value})",
    "class {name}:\n    def __init__(self, *a, **k): self.a = a\n"
    "    def __getattr__(self, name): return {value}",
    "class {name}:\n    def __init__(self, *a, **k): self.a = a\n"
    "    def __getattr__(self, name): return lambda *a, **k: {value}",
    "{name} = with_leaf({name}, {value}, {place})",
    "def {name}(*a, right={name}, **k): return with_leaf(right(*a, **k), {value}, {place})",
    "{name} = odd_where_it_is_read({name}, {value})",
)
METHODS = """
    __eq__ __ne__ __lt__ __hash__ __bool__ __len__ __iter__ __next__ __getitem__ __contains__
    __call__ __index__ __int__ __float__ __str__ __repr__ __format__ __add__ __radd__ __sub__
    __array__ __getattr__ __class__ __del__ __torch_function__ __reduce__ __deepcopy__
    __instancecheck__ shape dtype tolist item keys values size
""".split()  # fmt: skip
BODIES = (
    *("return 1", "return -1", "return None", "return ''", "return Odd()", "return self"),
    *(
        "return NotImplemented",
        "raise ValueError",
        "raise AttributeError('no')",
        "raise StopIteration",
    ),
    *("raise KeyboardInterrupt", "raise SystemExit", "raise MemoryError", "raise RecursionError"),
)
SETUP = """
import re, sys, numpy, torch
from collections import Counter
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

def with_leaf(right, value, place):
    "What is right, but for one of the values in it."
    if not isinstance(right, dict | list | tuple) or not right:
        return value
    keys = [*right] if isinstance(right, dict) else range(len(right))
    rest, at = divmod(place, len(keys))
    parts = {key: right[key] for key in keys}
    parts[keys[at]] = with_leaf(right[keys[at]], value, rest)
    return parts if isinstance(right, dict) else [*parts.values()]

def odd_where_it_is_read(right, value):
    "A right class whose attributes have a value for checks alone."
    def read(self, name):
        found = super(kind, self).__getattribute__(name)
        is_asked = "executor" in sys._getframe(1).f_code.co_filename
        return value if is_asked and not callable(found) else found
    kind = type("Own", (right,), {"__getattribute__": read}) if isinstance(right, type) else value
    return kind
"""


@cache
def solved(topic):
    """The names of a solved notebook."""
    return namespace_of(LABS[topic])


def play_answer(content):
    """The content: a topic and a check's name in two lines, then the answer's cell."""
    topic, name, cell = content.decode().split("\n", 2)
    check, cases = cases_by_check(topic)[name]
    namespace = dict(solved(topic))
    with redirect_stdout(StringIO()):
        exec(compile(SETUP + cell, "<answer>", "exec"), namespace)
        play_check(check, local_student(namespace), cases, hidden=True, right=right_of(topic))


@st.composite
def answers(draw):
    """A check, and a cell that answers its exercise oddly."""
    topic = draw(st.sampled_from(TOPICS))
    name = draw(st.sampled_from(sorted(cases_by_check(topic))))
    methods = draw(st.dictionaries(st.sampled_from(METHODS), st.sampled_from(BODIES), max_size=6))
    lines = [f"    def {method}(self, *a, **k): {body}" for method, body in methods.items()]
    odd = "\n".join(["class Odd:", "    a = 1", *lines])
    value, form = draw(st.sampled_from(VALUES)), draw(st.sampled_from(FORMS))
    exercise = cases_by_check(topic)[name][0].exercise
    answer = form.replace("{name}", exercise).replace("{value}", value)
    answer = answer.replace("{place}", str(draw(st.integers(0, 99))))
    return "\n".join([topic, name, odd, answer]).encode()


any_answer = answers()
