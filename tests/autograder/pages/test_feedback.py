"""A student's page: what each check costs, the student's own work beside it, whom to ask."""

import re
from dataclasses import replace

import pytest
from classroom import LAB, hand_in, result, solved
from desk_store import HOSTILE, is_harmless

from autograder.pages.feedback import points_of, titles_of, write_feedback
from autograder.pages.own_code import MAX_LINES, shown_lines
from autograder.practice import cell_called
from autograder.record.marks import HandMark, Mark
from autograder.record.results import ERROR, UNGRADABLE, CheckResult
from labkit.checks.core import GATE_SENTENCE, UNWRITTEN
from labkit.checks.outline import outline_of

CODE = '''def tokens_processed(n_prompt, n_new, use_cache):
    """Count.

    More of the task.
    """
    return n_promt
'''
RAISED = "On a hidden case: your code raised NameError: n_promt (line 6, in tokens_processed: ...)."


def failed(exercise, check, message, points=0.0, of=0.5, status="failed"):
    return CheckResult(exercise, check, points, of, False, message, f"Claim {check}.", "A hint.",
                       status)  # fmt: skip


def words(page):
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def page_of(folder, *args):
    return write_feedback(folder, *args).read_text(encoding="utf-8")


def test_the_students_code_stands_beside_the_check_that_failed(tmp_path):
    row = hand_in(tmp_path, "ann", solved(tokens_processed=CODE))
    checks = [failed("tokens_processed", "a", RAISED)]
    page = page_of(tmp_path, replace(row, checks=checks))
    [code] = re.findall(r'<pre class="code".*?</pre>', page)
    assert words(code) == (
        "1 def tokens_processed(n_prompt, n_new, use_cache): … the docstring 6 return n_promt"
    )
    [named] = re.findall(r'<span class="named">.*?</span>.*?</span>', code)
    assert "return n_promt" in named
    passing = replace(checks[0], passed=True, status="passed", points=0.5)
    assert "<pre" not in page_of(tmp_path, replace(row, checks=[passing]))


def test_code_that_does_not_parse_is_shown_whole_and_long_code_is_cut():
    text = 'def f(:\n    """One\n    two\n    three"""\n'
    assert [line.text for line in shown_lines(text)] == text.rstrip().splitlines()
    many = shown_lines("x = 1\n" * (MAX_LINES + 3))
    assert (len(many), many[-1].text) == (MAX_LINES + 1, "… and 3 more lines")


def test_each_failed_check_says_what_it_cost_and_equal_messages_stand_once(tmp_path):
    checks = [
        failed("generate", "a", "On a hidden case: it stops."),
        failed("generate", "b", "On a hidden case: it stops.", of=1.0),
        failed("tokens_processed", "c", "not written yet.", status="todo"),
        failed("tokens_processed", "d", "not written yet.", status="todo"),
    ]
    text = words(page_of(tmp_path, result("ann", score=0.0, max_score=2.5, checks=checks)))
    parts = text[text.index("4. Generation · generate 0 of 1.5") :]
    assert "✗ Claim a. −0.5 ✗ Claim b. −1" in parts
    assert parts.count("it stops") == 1
    assert "○ 5. Counting before timing · tokens_processed : not written yet 0 of 1" in parts
    assert parts.count("hint A hint.") == 1  # a hint comes after a try


def test_a_crash_comes_first_and_what_is_not_judged_has_a_mark_of_its_own(tmp_path):
    checks = [
        failed("generate", "a", "On a hidden case: it stops."),
        replace(failed("generate", "b", RAISED), cause="the code raises NameError", gate=True),
        failed("generate", "c", "Not judged: your code stopped at line 6.", status="unjudged"),
        failed("generate", "d", "Not judged: your code stopped at line 6.", status="unjudged"),
    ]
    page = page_of(tmp_path, result("ann", score=0.0, max_score=2.0, checks=checks))
    text = words(page)
    step = text[text.index("What to do next") :]
    assert "generate . Begin with this claim: Claim b. On a hidden case: your code raised" in step
    assert "1 more check of this part fails. 2 checks are not judged." in step
    parts = text[text.index("4. Generation · generate 0 of 2") :]
    assert parts.index("✗ Claim b.") < parts.index("✗ Claim a.") < parts.index("–")
    assert "– 2 checks are not judged: your code stopped at line 6. −1 Claim c. −0.5" in parts
    assert GATE_SENTENCE not in text
    assert len(re.findall(r'aria-label="not judged"[^>]*>–', page)) == 1


def test_what_to_do_next_names_the_gate_of_the_first_part_and_counts_the_others(tmp_path):
    blank = {"message": UNWRITTEN, "status": "todo"}
    checks = [
        failed("rotate", "a", **blank),
        replace(failed("rotate", "b", of=0.25, **blank), gate=True),
        failed("generate", "c", "On a hidden case: it stops."),
        failed("generate", "d", **blank),
        failed("tokens_processed", "e", **blank),
        failed("RingCache", "f", **blank),
    ]
    row = result("ann", score=0.0, max_score=2.75, checks=checks[::-1])
    text = words(page_of(tmp_path, row))
    step = text[text.index("What to do next") : text.index("Write it first")]
    assert "The first part that is not written yet is" in step
    assert "rotate . Begin with this claim: Claim b. 1 later part fails. 2 later" in step
    assert UNWRITTEN not in step.replace("are not written.", "")
    waits = failed("rotate", "a", "this calls `x`, which is not written yet.", status="todo")
    assert "which is not written yet" in words(page_of(tmp_path, replace(row, checks=[waits])))


def test_parts_stand_in_the_order_of_the_notebook_below_its_title(tmp_path):
    outline = [part.name for part in outline_of("kv_cache")]
    written = [part.name for part in outline_of("kv_cache") if part.kind == "written"]
    checks = [failed(name, "a", "x.") for name in outline if name not in written]
    row = result("ann", checks=checks[::-1], written=dict.fromkeys(written[::-1], 1.0))
    page = page_of(tmp_path, row)
    shown = re.findall(r"<h2>.*?<code>(\w+)</code>", page.partition("Correct it first")[2])
    assert shown == outline
    assert words(page).startswith("Lab 4: ")
    own = replace(row, lab="own_kit", checks=checks[:1], written={"essay": 1.0})
    assert words(page_of(tmp_path, own)).startswith("own_kit: ann own_kit ")


def test_passed_parts_are_folded_under_their_title(tmp_path):
    passed = CheckResult("generate", "a", 2.0, 2.0, True, "", "Claim a.")
    page = page_of(tmp_path, result("ann", score=2.0, max_score=2.0, checks=[passed]))
    [folded] = re.findall(r'<details class="box">.*?</details>', page, re.DOTALL)
    assert words(folded) == "✓ 4. Generation · generate 2 of 2 Claim a."
    assert "4. Generation" in titles_of(LAB).values()
    assert titles_of("my_own_assignment") == {}


def test_the_number_at_the_top_says_what_waits(tmp_path):
    row = result("ann", (1, 1, 0), written={"curve": 1.0, "rewinding": 1.0})
    assert "2 of 5, 2 not marked yet " in words(page_of(tmp_path, row))
    hand = HandMark("curve", 0.5, 1.0)
    mark = Mark(LAB, "ann", row.status, 2.0, 0.5, 0.0, ("rewinding",), 1.0, None, 5.0,
                hand=(hand,))  # fmt: skip
    assert "2.5 of 5, 1 not marked yet " in words(page_of(tmp_path, row, mark))
    whole = replace(mark, waits_for=(), total=3.25, by_hand=1.25)
    assert points_of(row, whole).earned == 3.25
    assert "3.25 of 5 ann ," in words(page_of(tmp_path, row, whole))


def test_an_undecided_exercise_waits_with_all_its_points():
    open_check = failed("generate", "a", "Not decided.", status="undecided", of=1.5)
    row = result("ann", checks=[open_check], score=0.0, max_score=1.5)
    assert points_of(row, None).waits == 1.5


def test_a_written_answer_stands_with_its_mark_and_comment(tmp_path):
    row = hand_in(tmp_path, "ann", solved(curve="It <b>*bends*</b>."), written={"curve": 1.0})
    hand = HandMark("curve", 0.5, 1.0, comment="Say why.")
    mark = Mark(LAB, "ann", row.status, 0.0, 0.5, 0.0, (), 1.0, 0.5, 1.0, hand=(hand,))
    page = page_of(tmp_path, row, mark)
    assert "0.5 of 1 Say why. your answer It &lt;b&gt; bends &lt;/b&gt;." in words(page)
    assert "<em>bends</em>" in page
    empty = hand_in(tmp_path, "bob", solved(curve="*Write your answer here.*"))
    page = page_of(tmp_path, replace(empty, written={"curve": 1.0}))
    assert "curve : your notebook has no answer here not read yet" in words(page)


def test_the_page_says_whom_to_ask_and_until_when(tmp_path):
    row = result("ann", (1, 0))
    assert "You can ask" not in page_of(tmp_path, row)
    (tmp_path / "policy.toml").write_text(
        'timezone = "Asia/Taipei"\nask = "Ms. Wu, room 3"\n'
        f"[ask_until]\n{LAB} = 2026-11-05T23:59:59\n"
    )
    assert "You can ask until 2026-11-05 23:59:59 (UTC+08:00): Ms. Wu, room 3." in words(
        page_of(tmp_path, row)
    )


def test_a_file_that_could_not_be_graded_has_a_page_for_the_student(tmp_path):
    problem = "This submission could not be graded: the file is empty: hand in the notebook again."
    row = result("ann", (), status=UNGRADABLE, score=None, max_score=4.0, problem=problem,
                 written={"curve": 1.0})  # fmt: skip
    text = words(page_of(tmp_path, row))
    assert "no mark yet" in text
    assert f"Your file could not be graded {problem} You have no mark for this lab yet." in text
    assert "not read yet" not in text
    ours = words(page_of(tmp_path, replace(row, status=ERROR, problem="Our error: x.")))
    assert "You made no mistake here" in ours
    assert "Our error: x." not in ours


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_is_harmless_on_the_page(tmp_path, name):
    clean = HOSTILE[name].encode(errors="replace").decode()
    row = hand_in(tmp_path, "ann", solved(curve=clean), written={"curve": 1.0})
    page = page_of(tmp_path, row)
    answer = page.partition('<div class="answer" dir="auto">')[2].partition("</details>")[0]
    assert is_harmless(answer.removesuffix("</div>"))
    assert "default-src 'none'" in page
    assert len(page) < 1_000_000


def test_a_pasted_picture_stands_in_the_answer(tmp_path):
    notebook = solved(curve="See ![plot](attachment:plot.png).")
    cell_called(notebook, "curve")["attachments"] = {"plot.png": {"image/png": "iVBORw0KGgo="}}
    row = hand_in(tmp_path, "ann", notebook, written={"curve": 1.0})
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in page_of(tmp_path, row)
