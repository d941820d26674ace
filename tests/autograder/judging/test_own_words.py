"""Whatever a student's code says of a hidden case, the student's page does not show it."""

import re
from pathlib import Path
from time import process_time

import pytest

from autograder.intake.steps import Step
from autograder.judging.client import ZygoteHandle
from autograder.judging.jobs import Limits
from autograder.judging.judge import _check_result
from autograder.judging.own_words import OwnWords
from autograder.judging.playing import Play, Playing
from autograder.judging.session import Session
from autograder.judging.wall import ChildSettings, strongest_rung
from labkit.bridge.requests import hold
from labkit.checks.compare import expect_number
from labkit.checks.core import Check, Wrong, play_check
from labkit.checks.forms import expect_refusal
from labkit.labs.speculative.checks.law import found_law

REPOSITORY = Path(__file__).resolve().parents[3]
SECRET = 271828  # a hidden case
SOURCE = "def f(n):\n    return g(n)\ndef g(n):\n    raise ValueError(f'n={n}')\nclass Odd: ..."


@pytest.fixture(scope="module")
def zygote(packages):
    settings = ChildSettings(
        student_path=packages, read_only=(packages,), rung=strongest_rung(), call_s=2
    )
    with ZygoteHandle(settings) as zygote:
        yield zygote


@pytest.fixture
def found(zygote):
    """Plays one check on the secret case after these cells, as the grader does."""
    started = []

    def found(play, *sources):
        started.append(Session(zygote, [Step(s, i) for i, s in enumerate(sources)], {}, Limits()))
        started[-1].run()
        check = Check("named", "f", "Claim.", "", 1, lambda case: True, play)
        (finding,) = Playing(started[-1], []).play_all([Play(check, [SECRET])])
        return _check_result("f", finding, 0.0, 1.0)

    yield found
    for session in started:
        session.close()


def calls(student, case):
    student.f(case)


def wants_no_error(student, case):
    expect_refusal(lambda: student.f(case), "TypeError", "f(n)")


def wants_a_number(student, case):
    expect_number(student.f(case), 1, "f(n)")


def measures(student, case):
    len(hold(student.f, case))


def follows(student, case):
    found_law(lambda source: student.f(case))


REPORT = """
import labkit.bridge.executor as e
def describe(error):
    secret = str(error)
    report = {"kind": "ValueError", "kinds": [], "message": "", "lines": [], "function": "",
              "unwritten": False}
    return report | CHANGE(secret)
import autograder.judging.child.server as s
e.describe_error = s.describe_error = describe
def f(n): raise ValueError(str(n))
"""
FORGED = "def CHANGE(secret): return {}"
WAYS = {  # how a hidden case could leave: the cell, and the check
    "a text": ("def f(n): raise ValueError(f'n={n}')", calls),
    "a text instead of a refusal": ("def f(n): raise ValueError(f'n={n}')", wants_no_error),
    "a class": ("def f(n): raise type(f'N{n}', (ValueError,), {})", calls),
    "a long class": ("def f(n): raise type(f'N{n}' * 200, (ValueError,), {})()", calls),
    "a key": ("def f(n): return {}[n]", calls),
    "a name": ("def f(n): return eval(f'x{n}')", calls),
    "a function": ("def f(n): exec(f'def x{n}(): raise ValueError\\nx{n}()')", calls),
    "a line": (
        "import linecache\ndef f(n):\n    source = f'raise ValueError  # {n}\\n'\n"
        "    linecache.cache['x'] = len(source), None, [source], 'x'\n"
        "    exec(compile(source, 'x', 'exec'))",
        calls,
    ),
    "the class of a value": ("def f(n): return type(f'N {n}', (), {})()", wants_a_number),
    "a length": (
        "import labkit.bridge.executor as e\n"
        "def f(n):\n    e.len = lambda of: [n] * 99\n    return object()",
        measures,
    ),
    "a forged line": (FORGED.format("{'lines': ['line 4, in f: ' + secret]}") + REPORT, calls),
    "a forged place": (FORGED.format("{'lines': ['line 4, in x' + secret]}") + REPORT, calls),
    "a name spelt of own names": (
        "def d1(): ...\ndef d2(): ...\ndef d7(): ...\ndef d8(): ...\n"
        "def f(n):\n    def g(): raise ValueError\n"
        "    spelt = '.'.join(f'd{digit}' for digit in str(n))\n"
        "    g.__code__ = g.__code__.replace(co_name=spelt, co_qualname=spelt)\n    g()", calls),
    "a number of a line": (FORGED.format("{'lines': ['line ' + secret]}") + REPORT, calls),
    "a forged report": (FORGED.format("{'lines': [secret]}") + REPORT, calls),
    "a forged function": (
        FORGED.format("{'function': 'x' + secret, 'kind': 'NotImplementedError', "
                      "'unwritten': True}") + REPORT, calls),
    "a forged name": (
        FORGED.format("{'kind': 'MissingName', 'message': 'n ' + secret}") + REPORT, calls),
    "a class called as ours": (
        "class MissingName(Exception): ...\ndef f(n): raise MissingName(f'n_{n}')", calls),
    "a name that cannot be followed": (
        "class CannotFollow(Exception): ...\ndef f(n): raise CannotFollow(f'n_{n}')", follows),
    "a seed": ("class Seeded(Exception): ...\ndef f(n): raise Seeded(f'{n}')", follows),
    "a forged value": (
        "import labkit.bridge.executor as e\nfrom labkit.bridge.wire import Encoder\nseen = ''\n"
        "def f(n):\n    global seen\n    seen = n\n"
        "Encoder.encode = lambda self, value: {f'$x {seen}': 1}",
        calls,
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_hidden_case_does_not_leave_by_what_is_said_of_an_exception(found, way):
    result = found(WAYS[way][1], WAYS[way][0])
    shown = result.explanation_before_the_end
    assert not result.passed
    assert shown
    assert str(SECRET) not in re.sub(r"[,.]d?", "", shown)
    assert len(shown) < 300


def test_the_student_reads_kind_and_line_and_a_ta_the_text(found):
    result = found(calls, SOURCE)
    line = "(line 4, in g: raise ValueError(f'n={n}'))."
    assert result.explanation == f"On a hidden case: your code raised ValueError: n={SECRET} {line}"
    shown = f"On a hidden case: your code raised ValueError {line}"
    assert result.explanation_before_the_end == shown


def test_where_no_case_is_hidden_the_text_is_shown():
    from labkit.bridge.local import local_student

    names = {}
    exec(SOURCE, names)
    check = Check("named", "f", "Claim.", "", 1, lambda case: True, calls)
    finding = play_check(check, local_student(names), [SECRET])
    assert f"ValueError: n={SECRET}" in finding.message and not finding.shown


def test_the_value_that_a_case_expects_stays_hidden_beside_an_exception(found):
    def refuses(student, case):
        try:
            student.f(case)
        except Exception as error:
            raise Wrong("f(n)", expected="no error of 12345", got=str(error)) from None

    result = found(refuses, SOURCE)
    assert result.explanation_before_the_end == "On a hidden case: f(n); got ValueError."
    assert str(SECRET) in result.explanation


def report(**more):
    plain = {"ok": False, "kind": "ValueError", "kinds": [], "message": "", "lines": []}
    return plain | {"function": "", "unwritten": False} | more


LONG = f"    total = {' + '.join(f'number_{i}' for i in range(40))}"
NESTED = """
@decorated(lambda f: f)
def f(n, key=[each for each in ()]):
    def g(n): ...
    class Odd:
        async def step(self): return [each for each in (lambda: 1)()]
    return lambda n: n
"""
FUNCTIONS = (
    *("f", "<lambda>", "<listcomp>", "f.<locals>.g", "f.<locals>.<lambda>", "f.<locals>.Odd"),
    *("f.<locals>.Odd.step", "f.<locals>.Odd.step.<locals>.<listcomp>"),
)
HONEST = [
    "line 4, in g: raise ValueError(f'n={n}')",
    "line 2, in f: return g(n), at `g(n)`",
    "line 2, in f.<locals>.<lambda>: return g(n)",
    "line 2, in <module>",
    f"line 5, in f: {LONG.strip()}"[:200],
]


def test_the_students_own_lines_and_classes_are_shown_as_they_are():
    words = OwnWords([SOURCE, LONG, NESTED])
    reply = report(kind="Odd", kinds=["Odd", "KeyError"], lines=HONEST, function="f.<locals>.g")
    assert words.of_report(reply) == reply
    assert words.of_report({"ok": True, "value": 1}) == {"ok": True, "value": 1}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_have_the_names_that_python_gives_them(function):
    assert OwnWords([NESTED]).of_report(report(function=function))["function"] == function


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("line 2, in f.g: return g(n)", "line 2: return g(n)"),
        ("line 2, in Odd.f.g.Odd", "line 2"),
        ("line 271828, in f: return g(n)", "a line"),
        ("line 000002, in f", "line 2, in f"),
        ("line 2, in f: return g(n), at `g(m)`", "line 2, in f"),
    ],
)
def test_own_names_and_numbers_of_lines_spell_no_case(line, shown):
    found = OwnWords([SOURCE]).of_report(report(lines=[line], function="f.g.f.g"))
    assert found["lines"] == [shown]
    assert found["function"] == ""


def test_the_students_line_is_shown_and_not_that_of_a_library():
    found = OwnWords([SOURCE]).of_report(report(lines=[HONEST[1], "line 355, in raw_decode"]))
    assert found["lines"] == [HONEST[1]]


def test_a_cell_that_python_cannot_read_has_functions():
    found = OwnWords(["files = !ls\ndef f(n): ..."]).of_report(report(function="f"))
    assert found["function"] == "f"


def test_many_lines_beside_the_notebook_cost_no_time():
    words = OwnWords(["\n".join(f"{i:x}" for i in range(300_000))])
    unknown = report(lines=[f"line 1, in f: {i}{'z' * 200}"[:200] for i in range(20)])
    words.of_report(unknown)
    start = process_time()
    words.of_report(unknown)
    assert process_time() - start < 0.05  # with a look at each line it took 3 s


def test_an_unknown_class_is_named_by_the_one_that_it_derives_from():
    reply = report(kind="Strange", kinds=["Strange", "RuntimeError"])
    assert OwnWords([]).of_report(reply)["kind"] == "RuntimeError"
    assert OwnWords([]).of_report(report(kind="Strange"))["kind"] == "Exception"
