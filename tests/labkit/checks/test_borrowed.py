"""An answer that uses what an experiment leaves is told so in the notebook, and nothing else is."""

import json

import pytest

from autograder.builder.outline import outline_bytes
from autograder.builder.source import read_labs
from labkit.checks import Checker
from labkit.checks.names import used_names
from labkit.checks.outline import experiments_of
from labkit.checks.why.borrowed import borrowed, borrowed_name

LABS = read_labs()
EXPERIMENTS = (frozenset({"rows", "row"}), frozenset({"s", "record"}))
MEASURES = "rows = []\nfor row in measured():\n    rows.append(row)"
SHOWS = "with shown() as record:\n    s = 1.5"


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("answer = rows[0]", "rows"),
        ("answer = {'best': max(row.time_s, 2)}", "row"),
        ("answer = 1 / s", "s"),
        ("def answer(n):\n    return n * s", "s"),
        ("answer = 2.5", ""),
        ("rows = [1, 2]\nanswer = rows[0]", ""),
        ("answer = sum(s for s in (1, 2))", ""),
        ("def answer(rows):\n    return rows[0]", ""),
        ("answer = own", ""),
    ],
)
def test_a_name_that_only_an_experiment_binds_is_borrowed(cell, name):
    ran = [MEASURES, SHOWS, "own = 3", "answer = rows", cell, "check('answer', points=1)"]
    assert borrowed_name(ran, "answer", EXPERIMENTS) == name


def test_a_name_of_ones_own_is_none_of_an_experiment():
    assert borrowed_name([MEASURES, "rows = [4]", "answer = rows[0]"], "answer", EXPERIMENTS) == ""
    edited = f"{MEASURES}\nmore = 1"
    assert borrowed_name([edited, "answer = rows[0]"], "answer", EXPERIMENTS) == "rows"


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_no_right_answer_needs_an_experiment(lab):
    names = frozenset().union(*experiments_of(lab.topic))
    assert [cell.name for cell in lab.marked if used_names(cell.text) & names] == []
    stored = [" ".join(sorted(each)) for each in experiments_of(lab.topic)]
    assert stored == json.loads(outline_bytes(lab))["experiments"]


def test_the_check_says_so_at_once_and_gives_no_points():
    ran = ["card = cards = total = measured()", "largest_on_80_gb = {'billions': cards[0]}"]
    report = Checker("memory", {"In": ran})("largest_on_80_gb", points=1)
    assert report.earned == 0
    first, *others = report.findings
    assert first.message == borrowed("cards").sentences()
    assert {each.status for each in others} == {"unjudged"}
    assert "`cards` comes from an experiment. Type its value here" in str(report)
    typed = ["cards = measured()", "largest_on_80_gb = {'billions': 40}"]
    assert "experiment" not in str(Checker("memory", {"In": typed})("largest_on_80_gb", points=1))
