"""What the prompt says after a grading."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from classroom import result

from autograder.course.late import Policy
from autograder.grading.messages import MAX_NAMED, counts, no_times, places
from autograder.record.results import UNGRADABLE

OUT = Path("out")


def bad(name, problem="The file is empty."):
    return result(name, status=UNGRADABLE, score=None, problem=problem)


def test_it_counts_and_names_the_report_and_each_file_with_its_reason():
    rows = [result("ann", (1,)), bad("bob"), result("cy", (1,))]
    assert counts(rows) == "3 submissions: 2 graded, 1 ungradable."
    assert places(OUT, rows) == [
        "Class report: out/report.html",
        "bob, 04_kv_cache.ipynb: The file is empty.",
    ]


def test_if_all_fail_alike_the_reason_stands_once():
    rows = [bad(name, "It seems to be another one.") for name in "abc"]
    assert places(OUT, rows)[1:] == [
        "No file could be graded, all for one reason. It seems to be another one."
    ]
    assert len(places(OUT, [bad("a", "One."), bad("b", "Two.")])) == 3
    assert places(OUT, [bad("a")])[1].startswith("a, ")


def test_many_files_are_counted():
    rows = [result("ann", (1,)), *(bad(f"b{i}") for i in range(MAX_NAMED + 2))]
    assert len(places(OUT, rows)) == MAX_NAMED + 2
    assert places(OUT, rows)[-1] == "The report names 2 more that could not be graded."


def test_if_nothing_tells_a_time_one_sentence_says_that_the_deadline_was_not_checked():
    policy = Policy(deadlines={"04_kv_cache": datetime(2026, 10, 15, tzinfo=UTC)})

    def told(*handed_in):
        standings = [policy.standing("04_kv_cache", "ann", *each) for each in handed_in]
        rows = [replace(result("ann", (1,)), late=each.sentence) for each in standings]
        return no_times(rows)

    unknown, known, canvas = ("", None), ("2026-10-14 12:00", None), ("", False)
    (sentence,) = told(unknown, unknown)
    assert "the deadline was not checked" in sentence
    assert "--roster" in sentence
    assert [told(), told(unknown, known), told(canvas, canvas)] == [[], [], []]
    policy = Policy()
    assert told(unknown) == []
