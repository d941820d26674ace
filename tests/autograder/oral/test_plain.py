"""No line of a notebook can mark the right options: what is run for questions, and what is not."""

import pytest
from instances import some_of
from oral_keys import HALF, cells_of, is_true, sheet_of

from autograder.judging.asking.plain import plain, plain_modules
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
    "reads who calls": "    import sys\n    sys._getframe(1)\n",
    "reads who calls, by torch": "    torch.sys._getframe(1)\n",
    "reads its source": "    import inspect\n    inspect.getsource(largest_model)\n",
    "reads its bytes": "    largest_model.__code__\n",
    "reads its bytes in a text": "    '{0.__code__.co_code}'.format(largest_model)\n",
    "counts on the disk": "    open('calls.txt', 'a').write('x')\n",
    "changes a library": "    torch.Tensor.tolist = list\n",
    "reads names by their text": "    getattr(torch, 's' + 'ys')\n",
    "runs a text": "    eval('n_params')\n",
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
    assert about(slot, RIGHT.format(INSIDE[how])) == ()


def test_honest_code_of_the_same_form_is_asked_about(slot):
    fine = "    import math\n    '{0}'.format(n_params)\n    math.floor(getattr(math, 'pi'))\n"
    assert len(about(slot, RIGHT.format(fine))) >= 3


def test_plays_with_code_that_counts_its_calls_are_dropped(slot):
    counting = f"    calls.append(0)\n    n_params += {MARK} * (len(calls) > 60)\n"
    asked = about(slot, "calls = []\n\n" + RIGHT.format(counting))
    assert not any("What is the value of" in each.sentence for each in asked)


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
    kept = plain(cell, frozenset({"own"})).split("\n")
    assert len(kept) == cell.count("\n") + 1
    assert {i: text for i, text in enumerate(kept, 1) if text} == {
        i: cell.split("\n")[i - 1] for i in (3, 4, 6, 9, 10, 11, 14, 15)
    }
    assert plain("def f(:") == "" and plain("def f(x):\n return " + "-" * 9000 + "x") == ""


def test_modules_beside_a_notebook_are_read_alike_and_nothing_else_is_there():
    files = {"own.py": b"import own2\nX = 1\nprint(X)\n", "own2.py": b"\xff", "a.so": b"", "b": b""}
    assert plain_modules(files) == {"own.py": b"import own2\nX = 1\n\n", "own2.py": b""}
