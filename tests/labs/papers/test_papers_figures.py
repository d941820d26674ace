"""The figures of lab 8: what they draw is what the records and the tables of the questions say."""

import re
from itertools import permutations

import pytest
from instances import each_nth

from autograder.labs.papers.rotation import rotating_names
from labkit.labs.papers.figures import PLOTS, figure_of
from labkit.labs.papers.items import items
from labkit.measuring.records import recorded_results
from tests.known.papers import every_item

OLDER = {"in_general", "the_ratio"}


def points(name):
    """By label, the points that a figure draws."""
    (axes,) = figure_of(name).axes
    return {line.get_label(): line.get_xydata().tolist() for line in axes.lines}


def test_every_second_question_has_a_figure_in_every_term():
    fixed = {item.name for item in items().values()} - set(rotating_names())
    assert set(PLOTS) <= set(every_item()) - OLDER
    for chosen in permutations(rotating_names(), 2):
        assert sum(name in PLOTS for name in (*fixed, *chosen)) >= 10


@pytest.mark.parametrize("name", each_nth(PLOTS, 4))
def test_a_figure_says_from_which_record_it_is(name):
    assert f"data/results/{PLOTS[name].record}.jsonl" in figure_of(name).get_supxlabel()
    assert figure_of(name, "zh").caption.endswith("。各點出自圖下註明的紀錄。")
    drawn = points(name)
    assert all(y > 0 for line in drawn.values() for _, y in line)
    assert {len(line) for line in drawn.values()} != {0}


def test_the_lines_of_speed_ups_are_the_rows_of_the_table():
    drawn = points("q14")
    table = re.findall(r"^\| (\w+, [\w-]+) \| (.+) \|$", items()["q14"].question["en"], re.M)
    assert len(table) == 4
    for name, entries in table:
        by_gamma = dict(drawn[name])
        assert [f"{by_gamma[gamma]:.2f}" for gamma in (1, 2, 3, 5, 7, 10)] == entries.split(" | ")


@pytest.mark.parametrize(
    ("name", "unit", "label"),
    [
        ("q15", "21.6 ms", "whole block"),
        ("q15", "15.5 ms", "target, checking"),
        ("q15", "6.4 ms", "target, one token"),
        ("q18", "91 ms", "with prefix cache"),
        ("q20", "115 ms", "one sequence"),
    ],
)
def test_an_entry_of_the_table_is_a_point_of_the_figure(name, unit, label):
    assert unit in items()[name].question["en"]
    number, _ = unit.split()
    digits = len(number.partition(".")[2])
    assert float(number) in {round(y, digits) for _, y in points(name)[label]}


def test_tokens_a_second_of_kernels_are_below_what_the_card_can_do():
    peak = recorded_results("flash-h200.jsonl")["flash-h200"].of("roofline")[0].counts["bfloat16"]
    for name in ("q09", "flash_attention_4"):
        assert max(y for line in points(name).values() for _, y in line) < peak / 1e12
