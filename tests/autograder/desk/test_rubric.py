"""Rubrics are read from the notebooks' sources."""

import pytest

from autograder.builder.source import read_labs
from autograder.desk.rubric import questions_of

QUESTIONS = [question for lab in read_labs() for question in questions_of(lab)]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: f"{each.lab}-{each.name}")
def test_the_items_that_earn_add_up_to_the_points_of_the_question(question):
    most = {item.one_of or item.text: 0.0 for item in question.items}
    for item in question.items:
        most[item.one_of or item.text] = max(most[item.one_of or item.text], item.points)
    assert sum(most.values()) == pytest.approx(question.points)
    assert question.text
    assert "Marking" not in question.model
    assert len({item.text for item in question.items}) == len(question.items)
    assert not [item.text for item in question.items if item.text[0].isdigit()]


def test_an_item_that_takes_points_off_is_negative():
    gain = next(each for each in QUESTIONS if each.name == "gain")
    assert [item.points for item in gain.items] == [0.1, 0.15, -0.1]


def test_of_a_list_within_an_item_only_one_counts():
    batched = next(each for each in QUESTIONS if each.name == "batched")
    assert [item.points for item in batched.items] == [0.25, 0.25, 0.5, 0.25]
    assert [item.one_of for item in batched.items] == ["", "", *["The difficulties, one of"] * 2]


def test_a_question_begins_at_its_last_heading():
    trends = next(each for each in QUESTIONS if each.name == "trends")
    assert trends.text.partition(trends.asked)[0]
    for question in QUESTIONS:
        assert question.text.endswith(question.asked)
        assert question.asked.startswith("### Written answer")
        assert question.asked.count("\n#") == 0
