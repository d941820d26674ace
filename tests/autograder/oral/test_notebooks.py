"""The notebooks of questions: what they hold, what they earn, and what forges no mark."""

import csv
import json
import shutil
from dataclasses import replace
from time import process_time

import nbformat
import pytest
from classroom import blank, hand_in, solved
from oral_keys import LAB
from test_oral import checked
from typer.testing import CliRunner

from autograder.builder import source
from autograder.builder.source import find_lab, read_course
from autograder.cli import app
from autograder.judging.asking.sheet import CHANGE, LINE, TRACE, Question, Sheet
from autograder.oral.notebooks import FEWEST, Asked, asked_of, letters_in, notebook_of
from autograder.practice.letters import answered
from autograder.record.log import read_results

NAME = "01_memory_oral"
CODE = (("n_params", "  1  def n_params():\n  2      return '```'"), ("kv_cache_bytes", "  1  x"))
WHY = "The secret reason."


def sheet(shift=0):
    kinds = (LINE, CHANGE, TRACE, LINE)
    sentences = ("Then one of these claims fails. Which one?", "What does it return then?",
                 "What is `x`?", "Then one of these claims fails. Which one?")  # fmt: skip
    questions = [
        Question(CODE[i // 2][0], kind, 1 + i, f"{i}: {sentences[i]}",
                 tuple(f"option {i}{letter}" for letter in "abcd"), (i + shift) % 4, "x = 1", WHY)
        for i, kind in enumerate(kinds)
    ]  # fmt: skip
    return Sheet(tuple(questions), CODE)


def ask(out, student, shift=0, points=6.0):
    """Make a student's questions as the command does; returns them."""
    asked = Asked(f"{student}0123456789abcdef", points, sheet(shift))
    path = out / "oral" / LAB / "notebooks" / f"{student}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(asked.to_json())
    return asked


def put(place, student, content, name=f"{NAME}.ipynb"):
    path = place / student / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def place(tmp_path):
    return tmp_path / "handed in"


NO_LINES = "largest_model = lambda vram_bytes, overhead_bytes=0, bytes_per_param=2: 5"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def marks_of(out):
    lines = (out / "marks.csv").read_text().splitlines()
    return {row["student"]: row for row in csv.DictReader(lines)}


def grade(out, place):
    """Mark the notebooks; returns the rows of the table of marks by student."""
    said = run("grade", NAME, place, "-o", out)
    assert said.exit_code == 0, said.output
    return marks_of(out)


def test_letters_are_marked_with_the_keys_of_each_student(out, place):
    asked = {name: ask(out, name, shift) for shift, name in enumerate(("ann", "bob", "cara"))}
    put(place, "ann", answered(LAB, asked["ann"], 1))
    put(place, "bob", answered(LAB, asked["bob"], 2))
    put(place, "cara", answered(LAB, asked["cara"], 0))
    rows = grade(out, place)
    assert {name: row["mark"] for name, row in rows.items()} == {
        "ann": "6", "bob": "3", "cara": "0"
    }  # fmt: skip
    assert all(row["of"] == "6" and row["lab"] == NAME for row in rows.values())
    results = {each.student: each for each in read_results(out / "results.jsonl")}
    assert [each.status for each in results["bob"].checks] == [
        "passed", "failed", "passed", "failed"
    ]  # fmt: skip
    assert {each.status for each in results["cara"].checks} == {"todo"}


def test_a_page_shows_keys_only_after_the_end(out, place):
    asked = ask(out, "ann")
    put(place, "ann", answered(LAB, asked, 2))
    grade(out, place)
    page = out / "feedback" / NAME / "ann.html"
    text = page.read_text()
    assert "Your answer is" in text and WHY not in text and "The key is" not in text
    assert run("report", out, "--with-cases").exit_code == 0
    assert WHY in page.read_text() and "The key is" in page.read_text()


def test_a_notebook_holds_no_key(out):
    asked = ask(out, "ann")
    text = nbformat.writes(notebook_of(LAB, asked))
    assert WHY not in text and "right" not in json.loads(text)["metadata"]
    other = replace(asked, sheet=replace(asked.sheet, questions=tuple(
        replace(each, right=(each.right + 1) % 4) for each in asked.sheet.questions)))  # fmt: skip
    assert nbformat.writes(notebook_of(LAB, other)) == text
    cells = {cell.id: cell for cell in notebook_of(LAB, asked).cells}
    assert cells["code-1"].source.count("````") == 2  # code with a fence of its own
    assert cells["answer-q1"].metadata.nbgrader.solution
    assert cells["check-check-questions"].metadata.nbgrader.points == 6


def test_the_notebook_of_another_student_is_refused(out, place):
    asked = {name: ask(out, name, shift) for shift, name in enumerate(("ann", "bob"))}
    put(place, "ann", answered(LAB, asked["bob"], 1))
    put(place, "bob", answered(LAB, asked["bob"], 1))
    rows = grade(out, place)
    assert rows["bob"]["mark"] == "6" and rows["ann"]["mark"] == ""
    assert "made for another student" in rows["ann"]["remark"]
    assert "bob" not in rows["ann"]["remark"]
    ann = next(each for each in read_results(out / "results.jsonl") if each.student == "ann")
    assert ann.flags == ["The notebook was made for bob."]


def test_another_number_or_none_gives_the_own_key(out, place):
    asked = {name: ask(out, name, shift) for shift, name in enumerate(("ann", "bob"))}
    stolen = answered(LAB, asked["bob"], 1).decode()
    put(place, "ann", stolen.replace(asked["bob"].number, asked["ann"].number).encode())
    put(place, "bob", stolen.replace(asked["bob"].number, "").encode())
    rows = grade(out, place)
    assert rows["ann"]["mark"] == "0" and rows["bob"]["mark"] == "6"


def test_edited_questions_and_points_change_nothing(out, place):
    asked = ask(out, "ann")
    notebook = json.loads(answered(LAB, asked, 2))
    for cell in notebook["cells"]:
        if cell["id"].startswith("question-"):
            cell["source"] = "What is 1 + 1? - **A**: 2"
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["points"] = 100
    notebook["cells"].append({
        "cell_type": "code", "id": "own", "metadata": {}, "outputs": [], "execution_count": None,
        "source": "import os\nos._exit(1)\nscore = 6",
    })  # fmt: skip
    put(place, "ann", notebook)
    assert grade(out, place)["ann"]["mark"] == "3"
    shown = (out / "course/autograded/ann" / NAME / f"{NAME}.ipynb").read_text()
    assert "0: Then one of these claims fails" in shown


def test_the_last_attempt_counts_and_no_best_of_four(out, place):
    asked = ask(out, "ann")
    put(place, "ann/attempt_1", answered(LAB, asked, 1))
    put(place, "ann/attempt_2", answered(LAB, asked, 2))
    row = grade(out, place)["ann"]
    assert row["attempt"] == "2 of 2" and row["mark"] == "3"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ('q1 = "B"', "B"), ("q1='b'", "B"), ("q1 = B", "B"), ('q1 = "C."  # sure', "C"),
        ("q1 = “D”", "D"), ('q1 = ""', ""), ('q1 = "AB"', ""), ('# q1 = "A"', ""), ("", ""),
        ('q1 = "A"\nq1 = "B"', "B"), ('q1 = "B', "B"), ('q11 = "A"', ""), ("q1 = open(0)", ""),
        ('q1 = "Ｂ"', "B"), ("q1 = ('c')", "C"), ('q1 == "A"', ""), ("q1 = 1\nA", ""),
    ],
)  # fmt: skip
def test_a_letter_is_read_however_it_is_written(text, letter):
    assert letters_in({"q1": text}) == {"q1": letter}


def test_no_line_takes_long_to_read():
    for line in ("q1 = %s1", "q1 = A%s!", 'q1 = "A%s!', "q1 = A%s."):
        started_s = process_time()
        letters_in({"q1": line % (" ." * 500_000)})
        letters_in({"q1": line % (" " * 1_000_000)})
        assert process_time() - started_s < 5


def test_cells_without_metadata_are_found_by_the_names_that_they_define(out, place):
    asked = ask(out, "ann")
    notebook = json.loads(answered(LAB, asked, 1))
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell["id"] = f"new{cell['id']}"
    put(place, "ann", notebook)
    assert grade(out, place)["ann"]["mark"] == "6"


def test_a_student_without_a_notebook_and_the_lab_itself_are_told_so(out, place):
    ask(out, "ann")
    put(place, "dan", answered(LAB, ask(out, "dan"), 1))
    (out / "oral" / LAB / "notebooks" / "dan.json").unlink()
    put(place, "ann", blank(LAB))
    rows = grade(out, place)
    assert "was made for this student" in rows["dan"]["remark"]
    assert "hand in the right file" in rows["ann"]["remark"]
    assert rows["ann"]["mark"] == rows["dan"]["mark"] == ""


def test_a_notebook_of_before_is_refused_in_one_sentence(out, place):
    put(place, "ann", b"{}")
    said = run("grade", NAME, place, "-o", out)
    assert said.exit_code == 2 and said.output.count("\n") == 1
    assert "holds no questions about 01_memory" in said.output
    said = run("practice", "01", "--oral", out)
    assert said.exit_code == 2 and said.output.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("oral", "out", "01_oral"),
        ("release", "01_oral", "--draft"),
        ("regrade", "01_oral", ".", "-o", "out", "--exercise", "q1"),
        ("practice", "01_oral"),
    ],
)
def test_where_a_lab_is_wanted_its_questions_are_refused(arguments):
    said = run(*arguments)
    assert said.exit_code == 2 and "name that lab" in said.output


def test_a_damaged_file_of_keys_is_named(out, place):
    ask(out, "ann")
    (out / "oral" / LAB / "notebooks" / "ann.json").write_text("{}")
    put(place, "ann", b"{}")
    said = run("grade", NAME, place, "-o", out)
    assert said.exit_code == 2 and "ann.json is damaged" in said.output


def test_the_course_says_what_a_notebook_counts(monkeypatch):
    from autograder.builder.course_page import page_tables
    from autograder.course.policy import policy_from
    from autograder.oral.notebooks import worth_of

    course = read_course()
    assert worth_of(LAB, {}) == 6
    counts = {**course.counts_as, "01_oral": 2}
    deadlines = {**course.policy["deadlines"], NAME: course.policy["deadlines"][LAB]}
    changed = replace(course, counts_as=counts, policy={**course.policy, "deadlines": deadlines})
    for module in ("autograder.builder.course_page", "autograder.oral.notebooks", source.__name__):
        monkeypatch.setattr(f"{module}.read_course", lambda: changed)
    assert worth_of(LAB, {}) == 2
    assert NAME in policy_from(changed.policy).deadlines
    row = next(each for each in page_tables()["labs"].splitlines() if NAME in each)
    assert row.endswith("| 2 | 0 | 2 |") and "2026-09-24" in row
    assert [each.name for each in source.read_term()] == [each.name for each in source.read_labs()]


def test_a_class_goes_all_the_way(tmp_path, out):
    names = tuple(cell.name for cell in find_lab(LAB).exercises)
    rows = [
        hand_in(out, "ann", solved(LAB), LAB, checks=checked(names)),
        hand_in(out, "bob", solved(LAB), LAB, checks=checked(names)),
        hand_in(out, "cara", blank(LAB), LAB, checks=checked(())),
        hand_in(out, "eve", solved(LAB, largest_model=NO_LINES), LAB,
                checks=checked(("largest_model",))),
        hand_in(out, "gone", solved(LAB), LAB, checks=checked(names)),
    ]  # fmt: skip
    shutil.rmtree(out / "course/submitted/gone")
    (out / "results.jsonl").write_text("".join(f"{each.to_json()}\n" for each in rows))
    (out / "seed").write_text("7\n")
    made = run("oral", out, LAB, "--notebooks", tmp_path / "made", "--jobs", "1")
    assert made.exit_code == 0, made.output
    assert made.output.splitlines() == [
        str(tmp_path / "made"),
        "cara gets no notebook: nothing of 01_memory passes yet.",
        "eve gets no notebook: the code that passes gives fewer than 3 questions.",
        "gone gets no notebook: no file of 01_memory is kept.",
    ]
    asked = asked_of(out, LAB)
    assert asked.keys() == {"ann", "bob"}
    assert all(len(each.questions) >= FEWEST for each in asked.values())
    assert asked["ann"].questions != asked["bob"].questions
    again = run("oral", out, LAB, "--notebooks", tmp_path / "again", "--jobs", "1")
    assert again.exit_code == 0 and asked_of(out, LAB) == asked
    own = f"{NAME}/{NAME}.ipynb"
    assert (tmp_path / "made/ann" / own).read_bytes() == (tmp_path / "again/ann" / own).read_bytes()
    assert run("practice", LAB, "-o", tmp_path, "--oral", out).exit_code == 0
    rows = {}
    assert run("grade", "01_oral", tmp_path / f"{NAME}.zip", "-o", out).exit_code == 0
    for row in csv.DictReader((out / "marks.csv").read_text().splitlines()):
        rows[row["lab"], row["student"]] = row
    n = len(asked["bob"].questions)
    assert rows[NAME, "ann"]["mark"] == "6"
    assert float(rows[NAME, "bob"]["mark"]) == pytest.approx(6 * -(-n // 2) / n, abs=0.01)
    assert rows.keys() >= {(LAB, "ann"), (LAB, "cara")}
    assert NAME in (out / "report.html").read_text()
    said = run("export", out, "-o", tmp_path / "table.csv", "--labs", "01_oral", "--points",
               "01_oral=2")  # fmt: skip
    assert said.exit_code == 0 and NAME in (tmp_path / "table.csv").read_text()
    assert run("forget", out, "ann").exit_code == 0
    assert asked_of(out, LAB).keys() == {"bob"}
