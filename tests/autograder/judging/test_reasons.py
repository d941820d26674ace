"""Code that fails for what the grader lacks goes to a person; other errors stay errors."""

import sys
from dataclasses import replace as replace_field
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_output

from autograder.judging.jobs import Limits
from autograder.judging.judge import _with_reason
from autograder.judging.reasons import error_of, right_elsewhere
from autograder.practice import Sample, cell_called
from autograder.practice.edits import replace, rewrite
from autograder.record.results import PARTLY
from labkit.checks.core import RAISES, Check, Finding
from labkit.checks.wrong import Wrong
from tests.sample_class.demo import RUN, grade_class, is_as_expected

LAB = "01_memory"
NEWER = [  # syntax, and the Python that has it
    ("type Rows = list[int]", (3, 12)),
    ("def first[T](rows: list[T]) -> T:\n    return rows[0]", (3, 12)),
    ("class Cache[K = int]:\n    pass", (3, 13)),
    ('print(f"{", ".join(names)}")', (3, 12)),
    ("print(f\"{'\\n'.join(names)}\")", (3, 12)),
    ('print(f"{\n    len(names)  # how many\n}")', (3, 12)),
    ("try:\n    pass\nexcept KeyError, ValueError:\n    pass", (3, 14)),
    ('page = t"{name}"', (3, 14)),
]
OLD = ["def f(:\n    pass", "x = = 2", "if x\n    y", "return [T](x)", "typed X = 3"]


def end_of(source):
    """What is said of a cell that this Python cannot read; "" if it can."""
    try:
        compile(source, "<cell>", "exec")
    except SyntaxError as error:
        return error_of(
            [new_output("error", ename="SyntaxError", evalue=error.msg, traceback=[])], source
        )
    return ""


@pytest.mark.parametrize(("source", "version"), NEWER)
def test_syntax_of_a_newer_python_goes_to_a_person(source, version):
    assert bool(right_elsewhere(end_of(source))) == (sys.version_info < version)


@pytest.mark.parametrize("source", OLD)
def test_what_no_python_can_read_stays_an_error(source):
    assert end_of(source)
    assert right_elsewhere(end_of(source)) == ""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("ModuleNotFoundError: No module named 'seaborn.axes'", "the grader has no package"),
        ("ImportError: cannot import name 'batched' from 'itertools' (unknown)", "`itertools` has"),
        ("AttributeError: module 'torch.nn' has no attribute 'Newer'", "`torch` has no `Newer`"),
        ("ModuleNotFoundError: No module named 'numpy'", ""),
        ("ModuleNotFoundError: No module named '__main__'", ""),
        ("AttributeError: module 'labkit.kit' has no attribute 'tabel'", ""),
        ("AttributeError: 'list' object has no attribute 'shape'", ""),
        ("NameError: name 'seaborn' is not defined", ""),
    ],
)
def test_what_the_grader_lacks_is_named(error, reason):
    found = right_elsewhere(f"cell 3 should define it, but ended with {error} (line 1)")
    assert reason in found
    assert bool(found) == bool(reason)


@pytest.mark.parametrize(
    ("code", "is_by_hand"),
    [
        ("raise ModuleNotFoundError(\"No module named 'seaborn'\")", True),
        ("import seaborn", False),
        ("if n > 3: from seaborn import axes", False),
        ("try:\n    import seaborn\nexcept ModuleNotFoundError:\n    raise", False),
        ("from importlib import import_module\nimport_module('seaborn')", False),
        ("largest_model.compiled()", False),
    ],
)
def test_an_error_that_code_raises_by_hand_is_wrong(code, is_by_hand):
    error = "your code raised ModuleNotFoundError: No module named 'seaborn'"
    assert (right_elsewhere(error, [code]) == "") == is_by_hand


def test_a_name_that_no_code_reads_is_not_lacking():
    error = "AttributeError: module 'torch' has no attribute 'newer'"
    assert right_elsewhere(error, [f'raise AttributeError("{error}")']) == ""
    assert right_elsewhere(error, ["try: torch.newer\nexcept AttributeError: raise"])


def in_front(code):
    """A solved notebook with this code above the first answer."""

    def edit(notebook):
        cell = cell_called(notebook, "largest_model")
        cell["source"] = code + cell["source"]

    return edit


COMPILED = (
    "import numba, pandas, scipy.stats, sympy\n@numba.njit\ndef twice(n):\n    return 2 * n\n"
    "assert twice(2) == 4\n@torch.compile\ndef same(n):\n    return n\n"
    "@torch.compile(fullgraph=True)\n"
)
LACKING = (
    "def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):\n"
    "    import seaborn\n    return vram_bytes // bytes_per_param"
)
BY_HAND = "raise ModuleNotFoundError(\"No module named 'seaborn'\")"
SAMPLES = [
    Sample("compiled", LAB, "compiled, and imports of Colab", in_front(COMPILED)),
    Sample("imports", LAB, "a package that is not there", in_front("import seaborn\n"),
           ("largest_model",), PARTLY),
    Sample("inside", LAB, "the same in a function",
           replace(LACKING, "largest_model"), ("largest_model",), PARTLY),
    Sample("by-hand", LAB, "the same, raised by hand",
           replace(LACKING.replace("import seaborn", BY_HAND), "largest_model"),
           ("largest_model",)),
    Sample("wrong", LAB, "an error of its own",
           rewrite("largest_model", ("return max", "return nothing + max")), ("largest_model",)),
]  # fmt: skip


def test_a_right_answer_in_another_environment_gets_its_points_or_a_person(tmp_path):
    # to import and to compile takes up to four seconds: the limits are the grader's own
    results = grade_class(SAMPLES, tmp_path / "out", replace_field(RUN, limits=Limits()))
    found = {sample.student: results[LAB, sample.student] for sample in SAMPLES}
    assert [each.student for each in SAMPLES if not is_as_expected(each, found[each.student])] == []
    for student in ("imports", "inside"):
        checks = [one for one in found[student].checks if one.exercise == "largest_model"]
        assert {one.status for one in checks} == {"undecided"}
        assert "the grader has no package `seaborn`" in checks[0].message
        assert found[student].problem == "A person has to decide checks of largest_model."


SAYS = "cell 3 ended with ModuleNotFoundError: No module named 'seaborn'"
UNDEFINED = "the notebook does not define seaborn."


@pytest.mark.parametrize("text", [SAYS, UNDEFINED])
def test_a_wrong_value_that_reads_like_what_the_grader_lacks_is_wrong(text):
    check = Check("holds", "f", "Claim.", "", 1, lambda case: True, None)
    session = SimpleNamespace(why_unbound=lambda name: SAYS, texts=[])
    for wrong in (Wrong(text), Wrong("f()", expected="1", got=text)):
        finding = Finding.failed(check, wrong)
        assert _with_reason(finding, session, {"seaborn": 1}, []) == finding
    raised = Finding.failed(check, Wrong(SAYS, cause=f"{RAISES} ModuleNotFoundError"))
    assert _with_reason(raised, session, {}, []).is_undecided
