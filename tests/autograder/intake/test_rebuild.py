"""Back onto the master: what runs, what is shown, and what is noticed."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.intake.master import read_master
from autograder.intake.read import SubmittedCell
from autograder.intake.rebuild import rebuild
from autograder.names import (
    assigned_names,
    is_check_call,
    statements,
)
from labkit.checks.names import bound_names, used_names


def node(kind, name, source, **nbgrader):
    make = new_markdown_cell if kind in ("written", "prose") else new_code_cell
    cell = make(source, id=f"{kind}-{name}")
    if kind != "prose":
        cell.metadata["labkit"] = {"kind": kind, "name": name}
    return cell


CELLS = [
    node("install", "install", "install()"),
    node("given", "setup", "import math"),
    node("prose", "p", "Why?"),
    node("written", "why", "Write here."),
    node("exercise", "area", "def area(r):\n    raise NotImplementedError"),
    node("check", "check_area", 'check("area", points=2)'),
    node("experiment", "plot", "curve = [1, 2]"),
    node("answer", "table", "table = {'a': ...}"),
    node("check", "check_table", 'check("table", points=1)'),
]
MASTER = read_master(new_notebook(cells=CELLS), "lab")


def own(source, *names, is_code=True):
    return SubmittedCell(is_code, source, names)


def submitted(**changes):
    """The handed-out cells with these texts instead, by name."""
    cells = []
    for cell in MASTER.cells:
        text = changes.get(cell.name, cell.source)
        cells.append(SubmittedCell(cell.node.cell_type == "code", text, (cell.name,)))
    return cells


SOLVED = {"area": "def area(r):\n    return 3 * r * r", "table": "table = {'a': 1}", "why": "So."}


def run_order(cells):
    return [step.source for step in rebuild(MASTER, cells).steps]


def shown(cells):
    return [cell.source for cell in rebuild(MASTER, cells).notebook]


PLAIN_ORDER = ["import math", SOLVED["area"], SOLVED["table"]]


def test_given_cells_then_answers_run_and_nothing_else():
    assert run_order(submitted(**SOLVED)) == PLAIN_ORDER
    assert rebuild(MASTER, submitted(**SOLVED)).notes == []


RELEASED = """\
# @title Run this cell first
def install_labkit(lab):
    import sys


install_labkit("01")"""


@pytest.mark.parametrize("names", [("install",), ()])
def test_the_install_cell_of_any_release_is_the_masters_and_never_runs(names):
    cells = [own(RELEASED, *names), *submitted(**SOLVED)[1:]]
    assert run_order(cells) == PLAIN_ORDER
    assert RELEASED not in shown(cells)
    more = [own(f"{RELEASED}\nr = 1", *names), *cells[1:]]
    assert f"{RELEASED}\nr = 1" in run_order(more)


def test_locked_cells_are_the_masters_and_changed_ones_run_as_the_students_own():
    cells = submitted(**SOLVED, setup="import math as m", check_area="print('100')")
    assert run_order(cells) == ["import math", "import math as m", SOLVED["area"], "print('100')",
                                SOLVED["table"]]  # fmt: skip
    assert 'check("area", points=2)' in shown(cells)


def test_test_cells_never_run_in_the_students_process():
    assert not any(is_check_call(source) for source in run_order(submitted(**SOLVED)))


def test_deleted_test_cells_come_back():
    cells = [cell for cell in submitted(**SOLVED) if not cell.names[0].startswith("check")]
    rebuilt = rebuild(MASTER, cells)
    assert shown(cells) == shown(submitted(**SOLVED))
    assert len(rebuilt.notes) == 2


def test_names_of_python_that_a_cell_below_answers_binds_are_noted():
    later = {
        "len = 3\nfor id in 'ab': pass": "id, len",
        "check = mine = 1": "check",
        "__builtins__ = {}": "__builtins__",
        "torch.Tensor.__eq__ = None\ndel math.floor": "math.floor, torch.Tensor.__eq__",
        "math = 5": "math",
        "%reset -f": "%reset",
    }
    harmless = ["import math\nimport torch as t", "mine.x = 1\nmine = [math.pi]", "x = 1\nx.y = 2"]
    n = len(submitted(**SOLVED)) + 1
    cells = [own("sum = 0"), *submitted(**SOLVED), *map(own, [*later, *harmless])]
    assert rebuild(MASTER, cells).notes == [
        f"cell {n + i} changes {names}: answers above it are judged without that"
        for i, names in enumerate(later.values(), start=1)
    ]


def test_a_later_cell_that_changes_an_answers_attributes_is_noted():
    cells = [*submitted(**SOLVED), own("area.__code__ = table.__code__\nareas.x = 1")]
    assert rebuild(MASTER, cells).notes == [
        f"cell {len(cells)} changes area.__code__: its answer cell counts"
    ]


def test_what_a_cell_above_all_answers_changes_in_libraries_is_noted():
    cells = [own("import torch\ntorch.Tensor.__eq__ = None\nmax = check = 1"), *submitted(**SOLVED)]
    assert rebuild(MASTER, cells).notes == [
        "cell 1 changes check, torch.Tensor.__eq__: look whether answers below it need that"
    ]


@pytest.mark.parametrize("n", [900, 1500])
def test_a_chain_of_attributes_is_read_as_far_as_python_reads_it(n):
    """Python parses it and cannot write it."""
    chain = own(f"torch{'.a' * n} = 1\ntorch.Tensor.__eq__ = None\nmath = 5")
    assert rebuild(MASTER, [*submitted(**SOLVED), chain]).notes == [
        f"cell {len(submitted(**SOLVED)) + 1} changes math, torch.Tensor.__eq__: "
        "answers above it are judged without that"
    ]


@pytest.mark.parametrize("order", ["stub last", "stub first", "twice filled"])
def test_of_copies_the_filled_one_counts(order):
    cells = submitted(**SOLVED)
    stub = own(MASTER.cells[4].source, "area")
    at = 5 if order == "stub last" else 4
    cells.insert(at, own(SOLVED["area"], "area") if order == "twice filled" else stub)
    area = [cell for cell in rebuild(MASTER, cells).notebook if cell.id == "exercise-area"]
    assert [cell.source for cell in area] == [SOLVED["area"]]
    assert stub.source not in run_order(cells)
    assert "the cell area appears 2 times" in rebuild(MASTER, cells).notes


def test_halves_of_a_split_cell_both_run():
    cells = submitted(**SOLVED)
    cells.insert(4, own("PI = 3", "area"))
    assert run_order(cells) == ["import math", "PI = 3", SOLVED["area"], SOLVED["table"]]


def test_answers_without_metadata_are_found_by_what_they_define():
    cells = [own(cell.source, is_code=cell.is_code) for cell in submitted(**SOLVED)]
    assert run_order(cells) == PLAIN_ORDER
    assert shown(cells) == shown(submitted(**SOLVED))
    notes = rebuild(MASTER, cells).notes
    assert "the cell area was recognised by what it defines" in notes
    assert "the answer why was recognised by its question" in notes


def test_moved_cells_run_in_the_students_order():
    assert run_order(list(reversed(submitted(**SOLVED)))) == [PLAIN_ORDER[i] for i in (0, 2, 1)]


def test_own_cells_run_where_they_stood_and_are_shown_there():
    cells = submitted(**SOLVED)
    cells.insert(4, own("helper = 1"))
    cells.append(own("print(helper)"))
    assert run_order(cells) == ["import math", "helper = 1", *PLAIN_ORDER[1:], "print(helper)"]
    texts = shown(cells)
    assert texts.index("helper = 1") < texts.index(SOLVED["area"])
    assert texts[-1] == "print(helper)"


def test_an_experiment_runs_only_when_something_needs_it():
    assert "curve = [1, 2]" not in run_order(submitted(**SOLVED))
    needed = submitted(**{**SOLVED, "table": "table = {'a': curve[0]}"})
    assert "curve = [1, 2]" in run_order(needed)
    moved = submitted(**{**SOLVED, "area": MASTER.cells[4].source, "plot": SOLVED["area"]})
    assert SOLVED["area"] in run_order(moved)


def test_a_cell_with_several_answers_runs_statement_by_statement():
    merged = "\n".join(["import os", SOLVED["area"], "curve = [1, 2]", SOLVED["table"],
                        'check("area", points=2)', "x = 1; y = 2"])  # fmt: skip
    assert run_order([own(merged)]) == ["import math", "import os", SOLVED["area"],
                                        SOLVED["table"], "x = 1; y = 2"]  # fmt: skip
    assert statements("@cache\ndef f():\n    pass\n\nx = 1") == [
        "@cache\ndef f():\n    pass",
        "x = 1",
    ]
    assert statements("def broken(:") == ["def broken(:"]


def test_nothing_recognised_is_said():
    rebuilt = rebuild(MASTER, [own("x = 1")])
    assert "no cell for area was handed in" in rebuilt.notes
    assert [cell.cell_type for cell in rebuild(MASTER, []).notebook] == [
        cell.cell_type for cell in CELLS
    ]


def test_claimed_metadata_cannot_change_the_master():
    cells = [own("x = 1", "setup"), own("100", "check_area"), own("area = 1", "written", "why")]
    flags = [cell.metadata.get("labkit") for cell in rebuild(MASTER, cells).notebook]
    assert [flag for flag in flags if flag] == [
        cell.metadata["labkit"] for cell in CELLS if "labkit" in cell.metadata
    ]


def test_names_are_read_without_running():
    source = (
        "import os.path, sys as s\ndef f(): pass\nclass C: pass\na, (b, c) = 1, (2, 3)\nd: int = 4"
    )
    for names_in in (bound_names, assigned_names):
        assert names_in(source) == {"os", "s", "f", "C", "a", "b", "c", "d"}
        assert names_in("%pip install x\ny = !ls\nz = 1") >= {"z"}
        assert names_in("def broken(:\nx = 1") == {"broken", "x"}
    loops = "for i in a:\n  b = i\nwith c as d: pass\nif e: f = 1\ntry: g = 1\nfinally: pass"
    assert bound_names(loops) == {"i", "b", "d", "f", "g"}
    assert assigned_names(loops) == set()
    assert used_names("def broken(:") == set()
    assert used_names("%time\n!ls\nx = (\n    y\n    % 2\n    != z\n)") == {"y", "z"}
    assert used_names("f(x + y.z)") == {"f", "x", "y"}
    assert used_names("def g(model):\n    tokens = model\n    return h(tokens)") == {"h"}


@pytest.mark.parametrize(
    ("source", "is_call"),
    [
        ('check("area", points=2)', True),
        (" check('area', points=2.5); ", True),
        ('check("a")' + " " * 60_000 + "x", False),
        ('check("area", points=2)\nx = 1', False),
        ('check("area", points=exit())', False),
        ("check(area)", False),
    ],
)
def test_only_a_plain_check_call_is_one(source, is_call):
    assert is_check_call(source) == is_call


@pytest.mark.parametrize(
    ("cells", "is_blank"),
    [
        (submitted(), True),
        ([], True),
        (submitted(area="", plot="curve = [3]"), True),
        (submitted(why="Because."), False),
        (submitted(table="table = {'a': 1}"), False),
    ],
)
def test_a_notebook_is_blank_if_nothing_was_filled_in(cells, is_blank):
    assert rebuild(MASTER, cells).is_blank == is_blank
