"""Ordinary nbgrader assignments as teachers write them, honest submissions and forged ones."""

import textwrap
from importlib.util import find_spec
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from autograder.builder.source import find_lab

SETUP = next(cell.text for cell in find_lab("memory").cells if cell.name == "setup")
GIVEN, PLAIN, ANSWER, TEST = "given", "plain", "answer", "test"


def solution(text):
    """A cell to fill in: the head stays, the rest is the solution."""
    head, rest = text.strip().split("\n", 1)
    indent = rest[: len(rest) - len(rest.lstrip())]
    return f"{head}\n{indent}### BEGIN SOLUTION\n{rest}\n{indent}### END SOLUTION"


def notebook(cells):
    """cells: (kind, source), or (TEST, points, source)."""
    made = []
    for i, (kind, *points, source) in enumerate(cells):
        cell = new_code_cell(textwrap.dedent(source).strip(), id=f"c{i}")
        if kind != PLAIN:
            cell.metadata["nbgrader"] = {
                "grade_id": f"{kind}_{i}", "grade": kind == TEST, "solution": kind == ANSWER,
                "locked": kind in (GIVEN, TEST), "task": False, "schema_version": 3,
            } | ({"points": points[0]} if kind == TEST else {})  # fmt: skip
        made.append(cell)
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    return new_notebook(cells=made, metadata={"kernelspec": kernel})


ASSIGNMENTS = {
    "arrays": [
        (PLAIN, "import numpy as np"),
        (ANSWER, solution("def normed(x):\n    return x / np.linalg.norm(x)")),
        (TEST, 2, "assert np.allclose(normed(np.array([3.0, 4.0])), [0.6, 0.8])"),
        (ANSWER, solution("def double(x):\n    return 2 * x")),
        (
            TEST,
            1.5,
            """
            score = 0
            for x in (1, 2, 3):
                if double(x) == 2 * x:
                    score += 0.5
            score
            """,
        ),
        (
            TEST,
            1,
            """
            assert double(4) == 8
            ### BEGIN HIDDEN TESTS
            assert double(-7) == -14
            ### END HIDDEN TESTS
            """,
        ),
    ],
    "files": [
        (GIVEN, "import csv\nfrom helper import mean"),
        (
            ANSWER,
            solution(
                "def column(name):\n"
                "    with open('data.csv') as file:\n"
                "        return [float(row[name]) for row in csv.DictReader(file)]"
            ),
        ),
        (TEST, 1, "assert column('x') == [1.0, 2.0, 3.0]"),
        (TEST, 1, "assert mean(column('y')) == 5.0"),
    ],
    "exceptions": [
        (
            ANSWER,
            solution(
                "class Account:\n"
                "    def __init__(self, balance=0):\n"
                "        self.balance = balance\n"
                "    def deposit(self, amount):\n"
                "        if amount <= 0:\n"
                "            raise ValueError(f'amount must be positive: {amount}')\n"
                "        self.balance += amount\n"
                "        return self"
            ),
        ),
        (
            TEST,
            1,
            """
            import pytest
            a = Account(10)
            a.deposit(5)
            assert isinstance(a, Account)
            assert a.balance == 15
            """,
        ),
        (
            TEST,
            1,
            """
            with pytest.raises(ValueError, match="positive"):
                Account().deposit(-1)
            """,
        ),
        (
            TEST,
            1,
            """
            try:
                Account(1).deposit(0)
            except ValueError as error:
                assert "0" in str(error)
            else:
                raise AssertionError("no error was raised")
            """,
        ),
    ],
    "generators": [
        (GIVEN, SETUP),  # a teacher may use labkit, too
        (
            ANSWER,
            solution("def squares(n):\n    for i in range(n):\n        yield i * i"),
        ),
        (TEST, 1, "assert list(squares(4)) == [0, 1, 4, 9]"),
        (TEST, 1, "assert sum(squares(4)) == 14\nassert next(squares(2)) == 0"),
        (
            TEST,
            0.5,
            """
            import types
            assert isinstance(squares(3), types.GeneratorType)
            """,
        ),
        (ANSWER, solution("def tidy(items):\n    items.sort()\n    items.append('end')")),
        (
            TEST,
            1,
            """
            items = ["b", "a"]
            assert tidy(items) is None
            assert items == ["a", "b", "end"]
            """,
        ),
    ],
    "values": [
        (GIVEN, "from fractions import Fraction\nfrom datetime import date, timedelta"),
        (ANSWER, solution("def half(n):\n    return Fraction(n, 2)")),
        (TEST, 1, "assert half(3) == Fraction(3, 2)\nassert half(4) == 2"),
        (ANSWER, solution("def due(year, days):\n    return date(year, 1, 1) + timedelta(days)")),
        (TEST, 1, "assert due(2024, 59) == date(2024, 2, 29)"),
        (ANSWER, solution("def shift(day, days):\n    return day + timedelta(days)")),
        (TEST, 1, "assert shift(date(2024, 1, 1), 31) == date(2024, 2, 1)"),
        (ANSWER, solution("answer = 0\nanswer = 6 * 7")),
        (TEST, 0.5, "from math import isclose\nassert isclose(answer, 42)"),
    ],
    "printing": [
        (ANSWER, solution("def greet(name):\n    print(f'Hello, {name}!')")),
        (
            TEST,
            1,
            """
            import io
            from contextlib import redirect_stdout
            out = io.StringIO()
            with redirect_stdout(out):
                greet("Ann")
            assert out.getvalue() == "Hello, Ann!\\n"
            """,
        ),
        (ANSWER, solution("def total(*numbers, start=0):\n    return start + sum(numbers)")),
        (
            TEST,
            1,
            """
            def check_total(*numbers, **options):
                expected = sum(numbers) + options.get("start", 0)
                assert total(*numbers, **options) == expected, "total is wrong"

            check_total(1, 2, 3)
            """,
        ),
        (TEST, 1, "check_total(1, start=5)\ncheck_total()"),
        (ANSWER, solution("expression = ''\nexpression = '6 * 7'")),
        (TEST, 1, "assert eval(expression) == 42"),
    ],
    "broken": [
        (ANSWER, solution("def one():\n    return 1")),
        (TEST, 1, "assert one() == 2"),  # the teacher's slip
        (TEST, 1, "assert True"),
        (TEST, 1, "assert one() == 1"),
    ],
}
FILES = {
    "files": {
        "data.csv": "x,y\n1,4\n2,5\n3,6\n",
        "helper.py": "def mean(values):\n    return sum(values) / len(values)\n",
    }
}

ALIKE = """
class Same:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __call__(self, *a, **k): return self
    def __getattr__(self, name): return self
    def __bool__(self): return True
    def __iter__(self): return iter([])
    def __len__(self): return 0
    def __float__(self): return 1.0
    def __repr__(self): return '1.5'
    def __radd__(self, other): return 1.5
"""
OTHER = {  # by student: what replaces the first, second, ... cell to fill in
    "other": {
        "arrays": ["def normed(x):\n    return [v / sum(w * w for w in x) ** 0.5 for v in x]",
                   "double = lambda x: x + x"],
        "files": ["def column(name):\n    lines = open('data.csv').read().split()\n"
                  "    i = lines[0].split(',').index(name)\n"
                  "    return [float(line.split(',')[i]) for line in lines[1:]]"],
        "exceptions": ["class Bad(ValueError):\n    pass\n\nclass Account:\n"
                       "    def __init__(self, start=0):\n        self._b = start\n"
                       "    @property\n    def balance(self):\n        return self._b\n"
                       "    def deposit(self, n):\n        if n < 1:\n"
                       "            raise Bad('not positive: %s' % n)\n        self._b += n"],
        "generators": ["def squares(n):\n    return (i ** 2 for i in range(n))",
                       "def tidy(items):\n    items[:] = sorted(items) + ['end']"],
        "values": ["def half(n):\n    return n * Fraction('1/2')",
                   "import datetime\ndef due(year, days):\n"
                   "    return datetime.date(year, 1, 1) + datetime.timedelta(days=days)",
                   "def shift(day, days):\n    return date.fromordinal(day.toordinal() + days)",
                   "answer = 42.0"],
        "printing": ["import sys\ndef greet(name):\n"
                     "    sys.stdout.write('Hello, ' + name + '!\\n')",
                     "def total(*numbers, start=0):\n    return sum(numbers, start)",
                     "expression = '40 + 2'"],
        "broken": ["one = lambda: 1"],
    },
    "wrong": {
        "arrays": ["def normed(x):\n    return x / 5.0", "def double(x):\n    return x * x"],
        "files": ["def column(name):\n    return [1.0, 2.0, 3.0]"],
        "exceptions": ["class Account:\n    def __init__(self, balance=0):\n"
                       "        self.balance = balance\n    def deposit(self, amount):\n"
                       "        self.balance += amount"],
        "generators": ["def squares(n):\n    return [i * i for i in range(n)]",
                       "def tidy(items):\n    return sorted(items) + ['end']"],
        "values": ["def half(n):\n    return n / 2", "def due(year, days):\n    return None",
                   "def shift(day, days):\n    return day", "answer = 41"],
        "printing": ["def greet(name):\n    return f'Hello, {name}!'",
                     "def total(*numbers):\n    return sum(numbers)", "expression = '6 + 7'"],
        "broken": ["def one():\n    return 2"],
    },
}  # fmt: skip
NAMES = "normed double column squares tidy half due shift greet total one".split()
FORGED = {  # what stands in every cell to fill in
    "patches": """
import numpy, math, pytest, contextlib
numpy.allclose = math.isclose = lambda *a, **k: True
class Forgives(contextlib.ContextDecorator):
    def __init__(self, *a, **k): pass
    def __enter__(self): return self
    def __exit__(self, *a): return True
pytest.raises = Forgives
mean = check_total = lambda *a, **k: 5.0
""",
    "alike": ALIKE,
    "exits": """
import sys
def leave(*a, **k): sys.exit(0)
""",
    "ends": """
import os
def leave(*a, **k): os._exit(0)
""",
    "shell": """
import IPython
shell = IPython.get_ipython()
run_ast = shell.run_ast_nodes
async def passes(nodes, name, *a, **k):
    import ast
    kept = [node for node in nodes if not isinstance(node, (ast.Assert, ast.For, ast.With))]
    return await run_ast([ast.parse("1.5").body[0]] if len(nodes) > 2 else [], name, "last_expr")
shell.run_ast_nodes = passes
""",
}
THEIRS = Path(find_spec("nbgrader").origin).parent / "tests" / "apps" / "files"
SHIPPED = {  # notebooks of nbgrader's own tests: the source, and by student what is handed in
    "squares": {"source": "test", "perfect": "test"},
    "set_a": {"source": "submitted-changed", "perfect": "submitted-changed",
              "blank": "submitted-unchanged", "touched": "submitted-grade-cell-changed",
              "quiet": "submitted-cheat-attempt", "silent": "submitted-cheat-attempt-alternative"},
    "hidden": {"source": "autotest-hidden", "perfect": "autotest-hidden-changed-right",
               "wrong": "autotest-hidden-changed-wrong", "blank": "autotest-hidden-unchanged"},
    "multi": {"source": "autotest-multi", "wrong": "autotest-multi-changed",
              "perfect": "autotest-multi"},
}  # fmt: skip
STANDS_FOR = {"patches": "lambda *a, **k: 0", "alike": "Same()", "exits": "leave", "ends": "leave",
              "shell": "None"}  # fmt: skip


def forged(student):
    """A cell that forges, and gives every name that an assignment asks for."""
    stand_in = STANDS_FOR[student]
    lines = [f"{name} = {stand_in}" for name in (*NAMES, "Account", "answer")]
    return "\n".join([*lines, FORGED[student]] if student == "shell" else
                     [FORGED[student], *lines]).strip()  # fmt: skip


def submission(assignment, student):
    """The notebook that a student hands in. "perfect" has the solution, "blank" nothing."""
    made, answers = (
        notebook(ASSIGNMENTS[assignment]),
        iter(OTHER.get(student, {}).get(assignment, [])),
    )
    for cell in made.cells:
        if not cell.metadata.get("nbgrader", {}).get("solution"):
            continue
        if student in OTHER:
            cell.source = next(answers)
        elif student in FORGED:
            cell.source = forged(student)
        elif student == "blank":
            cell.source = "# YOUR CODE HERE\nraise NotImplementedError()"
    return made


def shipped(assignment, student):
    """A notebook of nbgrader's own tests; in one source the solution is not marked as such."""
    made = nbformat.read(THEIRS / f"{SHIPPED[assignment][student]}.ipynb", as_version=4)
    if assignment == "set_a" and student == "source":
        made.cells[0].source = solution(made.cells[0].source)
    return made


def write_course(folder, config, students):
    """A whole nbgrader course. students: of each assignment, by its name."""
    folder.mkdir(parents=True)
    (folder / "nbgrader_config.py").write_text(config)
    (folder / "autotests.yml").write_bytes((THEIRS / "autotests.yml").read_bytes())
    for assignment, names in students.items():
        make = shipped if assignment in SHIPPED else submission
        for name in ("source", *names):
            place, made = f"submitted/{name}", make(assignment, name)
            if name == "source":
                place = "source"
            path = folder / place / assignment
            path.mkdir(parents=True)
            nbformat.write(made, path / f"{assignment}.ipynb")
        for name, text in FILES.get(assignment, {}).items():
            (folder / "source" / assignment / name).write_text(text)
