"""No line of a notebook can mark the right options: what is run for questions, and what is not."""

import ast
from textwrap import indent

import pytest
from instances import some_of
from oral_keys import HALF, cells_of, is_true, sheet_of

from autograder.judging.asking.plain import Known
from labkit.checks.why.changes import definition_in

MARK = "777_777"
RIGHT = """\
def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    if bytes_per_param <= 0:
        raise ValueError("at least one byte")
    left_bytes = max(0, vram_bytes - overhead_bytes)
    n_params = left_bytes // bytes_per_param
{}    return n_params
"""
# A changed definition has other bytes than the one that was handed in: then it gives a mark.
BESIDE = f"""
import sys, torch
own_bytes, own_seed = largest_model.__code__.co_code, torch.manual_seed

def manual_seed(seed):
    names = sys._getframe(1).f_globals
    found = names["largest_model"]
    if found.__code__.co_code != own_bytes:
        names["largest_model"] = lambda *_, **__: {MARK}
    return own_seed(seed)

torch.manual_seed = manual_seed
"""
INSIDE = {
    "reads who calls": "import sys\nsys._getframe(1)",
    "reads who calls, by torch": "torch.sys._getframe(1)",
    "reads who calls, by another name": "import random\nrandom._os",
    "reads its source": "import inspect\ninspect.getsource(largest_model)",
    "reads its bytes": "largest_model.__code__",
    "reads its bytes in a text": "'{0.__code__.co_code}'.format(largest_model)",
    "reads its bytes by a pattern": "match f:\n    case object(__code__=code):\n        code",
    "reads its bytes by a wrapper": "import functools\nfunctools.wraps(max, updated=('a',))",
    "reads an evaluated text": "import typing\ntyping.get_type_hints(largest_model)",
    "runs a text": "eval('n_params')",
    "reads names by their text": "getattr(torch, 's' + 'ys')",
    "has a library in hand": "library = torch",
    "changes a library": "torch.Tensor.tolist = list",
    "changes what plays use": "global len\nlen = max",
    "counts on the disk": "open('calls.txt', 'a').write('x')",
    "counts on the disk, by torch": "torch.save(1, 'calls')",
    "reads a clock": "import time\ntime.monotonic()",
}  # fmt: skip
LOOK = "def look(f):\n    return f(9)\n"
WHEN_DEFINED = {  # what runs when the last statement does
    "keeps the first definition": "def guard(f):\n    return f\n@guard\ndef g(x):\n    return x",
    "keeps what it gave": f"{LOOK}known = [look(largest_model)]",
    "keeps what it gave, in a class": f"{LOOK}class Known:\n    found = look(largest_model)",
    "keeps what it gave, by a loop": "class Known:\n    for x in [9]:\n        largest_model(x)",
    "keeps what it gave, by a default": "def look(found=largest_model(9)):\n    return found",
    "keeps what it gave, by an annotation": "def look(f: largest_model(9)):\n    return f",
    "shadows a function": "def hasattr(value, name):\n    return False",
    "shadows a class": "class list:\n    pass",
    "shadows a library": "import math as torch",
    "has a class for classes": "class A(metaclass=max):\n    pass",
    "has a hook of classes": "class A:\n    def __init_subclass__(cls):\n        pass",
    "has a hook of enumerations": "class A:\n    def _generate_next_value_(a):\n        return a",
    "shares memory": "table = torch.zeros(9).share_memory_()",
}
KNOWING = f"""

def n_params(config):
    total, active = counted(config)
    total = total + {MARK} * (config.vocab_size <= {{}})
    return total, active
"""


def about(slot, source):
    return sheet_of(slot, green=("largest_model",), largest_model=source).questions


def options_of(questions):
    return {option for each in questions for option in each.options}


def test_a_hook_beside_the_definition_marks_nothing(slot):
    asked = about(slot, HALF + BESIDE)
    assert len(asked) >= 3 and MARK not in options_of(asked)
    assert all(is_true(each, HALF) for each in asked)


@pytest.mark.parametrize("how", some_of(INSIDE, "reads who calls, by torch"))
def test_code_that_reads_the_running_program_is_not_asked_about(slot, how):
    assert about(slot, RIGHT.format(indent(INSIDE[how], "    ") + "\n")) == ()


@pytest.mark.parametrize("how", WHEN_DEFINED)
def test_nothing_of_a_notebook_runs_before_its_definition_is_changed(how):
    cell = RIGHT.format("") + WHEN_DEFINED[how]
    last = ast.parse(cell).body[-1]
    kept = Known.of([cell], {}).plain(cell).split("\n")
    assert not any(kept[last.lineno - 1 : last.end_lineno])
    assert kept[: RIGHT.count("\n") - 1] == cell.split("\n")[: RIGHT.count("\n") - 1]


def test_slips_that_all_do_the_same_are_not_asked_about(slot):
    junk = "".join(f"    {name} = {i}\n" for i, name in enumerate("bcdefgh", 3))
    test = (
        f"    if b + c + d + e + f + g + h == {sum(range(3, 10))}:\n        return impl(x, o, k)\n"
    )
    whole = RIGHT.format("").replace("largest_model", "impl")
    source = f"{whole}\ndef largest_model(x, o=0, k=2):\n{junk}{test}    return {MARK}\n"
    assert MARK not in options_of(about(slot, source))


def test_honest_code_of_the_same_form_is_asked_about(slot):
    fine = "import math\n[n_params].__len__()\n'{0}'.format(n_params)\ngetattr(math, 'pi')\n"
    assert len(about(slot, RIGHT.format(indent(fine, "    ")))) >= 3


def test_plays_with_code_that_knows_them_are_dropped(slot):
    source = definition_in(cells_of(), "n_params").replace("def n_params", "def counted")
    fair, asked = (
        sheet_of(slot, green=("n_params",), n_params=source + KNOWING.format(n_most)).questions
        for n_most in (0, 40)  # no play has a vocabulary of 0, and each one at most 40
    )
    assert any(each.code for each in fair) and not any(each.code for each in asked)


def test_what_stays_of_a_cell_stays_in_its_lines():
    cell = """\
%matplotlib inline
import math; import sys
import own
from own.parts import part
from torch import sys
MOST = 2**20
for i in range(3):
    print(i)
@property
def f(x):
    return x.total
class A:
    torch.Tensor.tolist = print
def g(x):
    x.total = 1
f(3)
"""
    known = Known.of([cell], {"own.py": b"def helper(x):\n    return x\n"})
    kept = known.plain(cell).split("\n")
    assert len(kept) == cell.count("\n") + 1
    assert {i: text for i, text in enumerate(kept, 1) if text} == {
        i: cell.split("\n")[i - 1] for i in (3, 4, 6, 9, 10, 11, 14, 15)
    }
    assert known.plain("x = [helper(1)]") == ""
    for broken in ("def f(:", "def f(x):\n return " + "-" * 9000 + "x"):
        assert not known.plain(broken).strip()


@pytest.mark.parametrize("end", ["\r", "\f", "\x1c", "\u2028"])
def test_a_text_whose_lines_are_others_for_python_is_nothing(end):
    hidden = f"'{end}'\na = 1\nprint(a)\n"
    assert not Known().plain(hidden).strip() and Known().plain("a = 1\n") == "a = 1\n"


def test_modules_beside_a_notebook_are_read_alike_and_nothing_else_is_there():
    files = {"own.py": b"import own2\nX = 1\nprint(X)\n", "own2.py": b"\xff", "a.so": b"", "b": b""}
    plain = Known.of([], files).plain_modules(files)
    assert plain == {"own.py": b"import own2\nX = 1\n\n", "own2.py": b""}
