"""Pages: what stands on them, for whom, and that nothing in them runs or is loaded."""

import re
from dataclasses import replace
from importlib.resources import files

import pytest
from classroom import LAB, hand_in, result, solved

from autograder.pages.evidence.flags import Flag, write_flags
from autograder.pages.report import next_step, write_feedback, write_pages, write_report
from autograder.record.marks import HandMark, Mark
from autograder.record.results import ERROR, PARTLY, UNGRADABLE
from labkit.checks.core import GATE_SENTENCE, UNDECIDED_SENTENCE, Wrong

SCRIPT = files("autograder.pages").joinpath("templates/tables.js").read_text()
WRONG = Wrong("the batch", expected="9", got="1", why="One sequence was counted.")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{ 7*7 }}"


def page_of(tmp_path, *args, **options):
    return write_feedback(tmp_path, *args, **options).read_text()


def words(page):
    """What a reader sees, on one line."""
    text = re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(text.split())


def mark_of(row, *hand, total=None, bonus=0.0):
    given = sum(each.points or 0 for each in hand)
    return Mark(row.lab, row.student, row.status, row.score, given, bonus, (), row.late_factor,
                total, 12.0, hand=hand)  # fmt: skip


def test_a_student_sees_what_failed_first_and_where_to_go_on(tmp_path):
    row = result("ann", (1, 0, 0, 0), messages={"b": WRONG, "c": WRONG})
    text = words(page_of(tmp_path, row))
    step = text[text.index("What to do next") : text.index("exercise_0 1 of 2")]
    assert "first part that fails a check is exercise_0 . Begin with this claim: Claim b." in step
    assert "On a hidden case: the batch; got 1. One sequence was counted." in step
    assert "A hint." in step
    assert "2 more checks" not in step
    assert "1 later part fails." in step


def test_what_hidden_cases_expect_is_shown_only_after_the_last_attempt(tmp_path):
    row = result("ann", (0, 0), messages={"a": WRONG, "b": "`q01` is 9; expected 7, got 9."})
    text = words(page_of(tmp_path, row))
    assert "expected 9" not in text
    assert "expected 7, got 9" in text  # the student's own answer is no hidden case
    assert f"On a hidden case: {WRONG.sentences()}" in words(
        page_of(tmp_path, row, with_cases=True)
    )


def test_a_check_that_is_not_decided_is_no_failed_one(tmp_path):
    row = result("ann", (1, 1), problem="A person has to decide checks of exercise_0.")
    still_open = replace(
        row.checks[1], passed=False, status="undecided", gate=True,
        message="This check is not decided: the submission used up its 300 s.",
    )  # fmt: skip
    row = replace(row, status=PARTLY, checks=[row.checks[0], still_open])
    page = page_of(tmp_path, row)
    assert "No check fails. A person will look at the checks that are not decided." in words(page)
    assert f"{still_open.message} {UNDECIDED_SENTENCE}" in words(page)
    assert GATE_SENTENCE not in page
    assert re.search(r'aria-label="not decided"[^>]*>\?', page)


def test_an_exercise_left_open_is_called_open_and_not_wrong(tmp_path):
    text = words(page_of(tmp_path, result("ann", (1, 0))))
    assert "The first part that is not written yet is exercise_0 " in text
    assert next_step(result("ann", (1, 0))).others == []


def test_who_passes_everything_reads_that(tmp_path):
    text = words(page_of(tmp_path, result("ann", (1, 1))))
    assert "Every check passes." in text
    assert "What to do next" not in text


def test_attempt_group_and_time_stand_on_the_page(tmp_path):
    row = result("ann", (1,), attempt=2, n_attempts=3, group="team 5",
                 submitted_at="2026-10-15T23:58:00+08:00")  # fmt: skip
    text = words(page_of(tmp_path, row))
    for line in ("Attempt 2 of 3 is the one that counts.", "for the group team 5 .",
                 "Handed in at 2026-10-15T23:58:00+08:00."):  # fmt: skip
        assert line in text
    alone = words(page_of(tmp_path, result("bob", (1,))))
    for word in ("Attempt", "group", "Handed in"):
        assert word not in alone


def test_lateness_is_said_with_what_it_costs(tmp_path):
    row = result("ann", (1, 1), late="Two days late.", late_factor=0.8)
    text = words(page_of(tmp_path, row, mark_of(row, total=1.6)))
    assert "Two days late. The points of this lab count 80 %." in text
    assert "In all: 1.6 of 12 points, after the deduction for late work." in text
    in_time = words(page_of(tmp_path, result("bob", (1,), late="Handed in within the grace time.")))
    assert "The points of this lab count" not in in_time


def test_marks_given_by_hand_stand_beside_the_answers(tmp_path):
    row = result("ann", (1, 0), written={"curve": 2.0, "rewinding": 1.0})
    hand = [
        HandMark("curve", 1.5, 2.0, comment="Say why it bends."),
        HandMark("check_exercise_0", 2.0, 2.0, is_current=False),
    ]
    text = words(page_of(tmp_path, row, mark_of(row, *hand, total=3.5)))
    assert "· curve : your notebook has no answer here 1.5 of 2 Say why it bends." in text
    assert "· rewinding : your notebook has no answer here not read yet, 1 at most" in text
    assert "A person gave 2 of 2 in place of the checks." in text
    assert "The answer has changed since" in text
    assert "In all: 3.5 of 12 points, with 3.5 given by hand." in text


def test_without_a_total_no_total_is_shown(tmp_path):
    row = result("ann", (1,), written={"curve": 2.0})
    assert "In all" not in page_of(tmp_path, row, mark_of(row, HandMark("x", 1.0, 1.0)))


def test_a_refused_late_submission_says_so_beside_its_points(tmp_path):
    row = result("ann", (1, 1), late="Handed in a day after the deadline.", late_factor=0.0)
    text = words(page_of(tmp_path, row, mark_of(row, total=0.0)))
    assert "The points of this lab count 0 %." in text
    assert "In all: 0 of 12 points" in text


@pytest.fixture
def everything(tmp_path):
    """A class with all that may go wrong, hostile names included; its folder and results."""
    rows = [
        result("ann", (1, 1), seconds=9.87),
        result("bob", (1, 0), messages={"b": WRONG}, flags=[HOSTILE], group=HOSTILE, late=HOSTILE,
               file_name=HOSTILE, submitted_at=HOSTILE, n_attempts=2),
        result("cy", (1, 0), messages={"b": HOSTILE}, status=PARTLY, problem=HOSTILE),
        result("di#?%20", (), status=UNGRADABLE, score=None, problem="No JSON."),
        result("eve", (), status=ERROR, score=None, max_score=0.0, problem="Our error."),
        result("<b>&amp;", (0, 0), messages={"a": WRONG, "b": WRONG}),
    ]  # fmt: skip
    write_flags(tmp_path, LAB, [Flag("server", ("cy", HOSTILE), HOSTILE)])
    hand = HandMark("curve", 1.0, 2.0, comment=HOSTILE)
    write_pages(tmp_path, rows, [mark_of(rows[0], hand, total=3.0)])
    return tmp_path, rows


def test_nothing_a_student_wrote_runs_or_loads_and_nothing_else_does(everything):
    folder, rows = everything
    pages = list(folder.rglob("*.html"))
    assert len(pages) == len(rows) + 3
    for path in pages:
        page = path.read_text()
        if path.name == "report.html":
            script = re.findall(r"<script>.*?</script>", page, re.DOTALL)
            assert script == [f"<script>\n{SCRIPT.strip()}</script>"]
            page = page.replace(script[0], "")
        assert "<script" not in page
        assert "<img" not in page
        assert "<b>" not in page
        assert "49" not in page
        for link in re.findall(r"(?:href|src)=\"([^\"]*)\"", page):
            assert not re.match(r"[a-z]+:|//", link), link
        assert "url(" not in page
        assert "@import" not in page


def test_every_link_of_the_class_report_leads_to_a_file(everything):
    from urllib.parse import unquote

    folder, _ = everything
    links = re.findall(r'href="([^"#]+)"', (folder / "report.html").read_text())
    assert len(links) > 6
    for link in links:
        assert (folder / unquote(link)).exists(), link


def test_the_class_report_has_all_its_parts(everything):
    folder, _ = everything
    text = words((folder / "report.html").read_text())
    parts = [
        "6 submissions",
        "Mean 1.0, median 1 of 2 points",
        "1 error, 3 graded, 1 partly, 1 ungradable",
        "For a person to look at",
        "Flagged",
        "Most frequent misconceptions",
        "One sequence was counted.",
        "too few marks to judge it: 4 of 20",
        "3 of 12",
        "Students by exercises",
        "Checks, the costliest first",
    ]
    assert [part for part in parts if part not in text] == []


def test_a_misconception_is_counted_by_students(everything):
    folder, _ = everything
    page = (folder / "report.html").read_text()
    row = page[: page.index("One sequence was counted.")].rpartition("<tr>")[2]
    assert words(row).split()[0] == "2"


def test_times_stand_on_their_own_page_so_that_the_report_is_the_same_in_every_run(everything):
    folder, rows = everything
    before = (folder / "report.html").read_bytes()
    assert "9.87" in (folder / "timing.html").read_text()
    assert b"9.87" not in before
    flags = [replace(row, seconds=row.seconds + 1, peak_mb=77.0) for row in rows]
    hand = HandMark("curve", 1.0, 2.0, comment=HOSTILE)
    write_report(folder, flags, [mark_of(rows[0], hand, total=3.0)])
    assert (folder / "report.html").read_bytes() == before


def test_half_a_character_breaks_no_page(tmp_path):
    assert "a?b" in page_of(tmp_path, result("ann", (), flags=["a\ud800b"]))


def test_a_class_of_nobody_has_a_report(tmp_path):
    assert "Class report" in write_report(tmp_path, []).read_text()


def test_a_lab_that_nobody_has_a_mark_for_has_a_report(tmp_path):
    rows = [result(name, status=ERROR, score=None, max_score=0.0, problem="x.") for name in "ab"]
    assert "2 error" in words(write_report(tmp_path, rows).read_text())


def test_the_class_report_counts_what_is_not_judged(tmp_path):
    row = result("ann", (0, 1))
    hidden = replace(row.checks[0], status="unjudged", message="Not judged: it stopped.")
    rows = [replace(row, checks=[hidden, row.checks[1]])]
    assert "0 of 1, – 1 not judged" in words(write_report(tmp_path, rows).read_text())


def test_pages_of_a_real_submission_name_its_exercises(tmp_path):
    row = hand_in(tmp_path, "ann", solved())
    assert words(page_of(tmp_path, replace(row, flags=["a note"]))).endswith("a note")


def test_the_costliest_check_comes_first_and_few_are_unfolded(tmp_path):
    rows = [result(name, (1, *[i % 3 == 0] * 13, 0)) for i, name in enumerate("abcdef")]
    page = write_report(tmp_path, rows).read_text()
    lost = [float(text) for text in re.findall(r'data-label="lost" data-value="([^"]+)"', page)]
    assert lost == sorted(lost, reverse=True)
    assert lost[0] == 1.0
    assert "3 more checks" in words(page)
    assert len(lost) == 15


def test_the_heat_map_has_a_cell_for_each_student_and_exercise(tmp_path):
    rows = [
        result("ann", (1, 1, 1, 0, 0, 0), messages={"d": WRONG, "e": WRONG}),
        result("bob", (1, 1, 1, 1, 1, 1)),
        result("cy", (), status=UNGRADABLE, score=None),
    ]
    page = write_report(tmp_path, rows).read_text()
    heat = page[page.index('class="tool heat"') :].partition("</table>")[0]
    cells = re.findall(r'<td class="h(\d)"[^>]*title="([^"]*)">([^<]*)<', heat)
    assert [level for level, _, _ in cells] == ["4", "4", "4", "4", "2", "0"]
    assert cells[4][1:] == ("exercise_1: 1 of 2", "1")
    assert "cy" not in words(heat)


def test_what_is_not_written_is_a_ring(tmp_path):
    page = write_report(tmp_path, [result("ann", (0, 0))]).read_text()
    assert 'title="exercise_0: 0 of 2">○<' in page


def test_many_flags_are_counted_and_not_listed(tmp_path):
    flags = [Flag("same", (f"a{i}", f"b{i}"), "The files are the same.") for i in range(5)]
    write_flags(tmp_path, LAB, flags)
    text = words(write_report(tmp_path, [result("ann", (1,))]).read_text())
    assert "The same answers in several submissions : 5 times, with 10 students" in text
    write_flags(tmp_path, LAB, [Flag("same", ("a", "b", "c", "d", "e"), "The same.")])
    text = words(write_report(tmp_path, [result("ann", (1,))]).read_text())
    assert "a and b and c and 2 more" in text
