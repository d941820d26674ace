"""One setting says what AI assistants may do: page, notebooks, AGENTS.md and work log follow it."""

import io
import json
import re
import zipfile

import pytest

from autograder import places
from autograder.builder.ai import RULES
from autograder.builder.ai.agents import DIALOGUES, agents_file, dialogues_of, sentences_of
from autograder.builder.course_page import heading, page_tables
from autograder.builder.editions import edition_of
from autograder.builder.notebooks import build_notebook, cell_name
from autograder.builder.outline import outline_bytes
from autograder.builder.pages import pages
from autograder.builder.source import find_lab, read_labs
from autograder.desk.rubric import questions_of
from autograder.errors import Refusal
from autograder.intake.master import read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import rebuild
from autograder.practice import cell_called
from labkit.checks.core import checks_of
from tests.autograder.builder.test_builder import lines_of, telling_lines

LABS = read_labs()
WITH_DIALOGUES = [
    lab for lab in LABS if (places.REPOSITORY / f"autograder/labs/{lab.topic}/{DIALOGUES}").exists()
]


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A function that gives the course another rule."""
    committed = places.COURSE.read_text(encoding="utf-8")
    monkeypatch.setattr(places, "COURSE", tmp_path / "course.toml")

    def change(ai):
        places.COURSE.write_text(committed.replace('ai = "tutor"', f"ai = {ai}"), encoding="utf-8")

    return change


@pytest.mark.parametrize("ai", RULES)
def test_page_notebook_and_file_for_agents_say_one_rule(course, ai):
    course(f'"{ai}"')
    lab = find_lab("04_kv_cache")
    said = {"none": "Use no AI", "tutor": "to learn, not to answer", "free": "keep a log"}
    below_the_title = {"none": "No AI", "tutor": "may explain, but not answer", "free": "work log"}
    told = {"none": "allows no AI", "tutor": "it forbids you to answer", "free": "all help"}
    assert said[ai] in page_tables()["ai"] and said[ai] in pages()["course.html"]
    assert below_the_title[ai] in heading(lab)
    assert told[ai] in " ".join(agents_file(lab).split())
    assert heading(lab) in build_notebook(lab, "student").cells[0].source


@pytest.mark.parametrize("wrong", ['"Tutor"', '"yes"', "true", '["free"]'])
def test_another_value_is_refused_with_what_was_wanted(course, wrong):
    course(wrong)
    with pytest.raises(Refusal, match=r'ai should be one of "none", "tutor", "free", got'):
        find_lab("04_kv_cache")


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_only_where_all_is_allowed_a_lab_ends_with_a_log_that_a_person_marks(course, lab):
    before = [cell.name for cell in lab.cells]
    course('"free"')
    log = find_lab(lab.name)
    assert [cell.name for cell in log.cells][: len(before)] == before
    assert log.cells[-1].name == "work_log" not in before
    cells = {cell_name(cell): cell for cell in build_notebook(log, "student").cells}
    assert cells["work_log"].metadata["nbgrader"]["grade"]
    assert cells["work_log"].metadata["nbgrader"]["points"] == 1
    master = read_master(build_notebook(log, "instructor"), log.name)
    assert [cell.name for cell in master.of_kind("written")][-1] == "work_log"
    assert json.loads(outline_bytes(log))["parts"][-1] == {
        "name": "work_log", "kind": "written", "points": 1.0, "section": "Work log"}  # fmt: skip
    question = questions_of(log)[-1]
    assert [item.points for item in question.items] == [0.25] * 4
    assert "Write a row" in question.text and "Marking" not in question.model
    assert all(item.text[1:] in agents_file(log) for item in question.items)
    course('"tutor"')
    assert find_lab(lab.name) == lab


def test_a_log_that_was_handed_in_reaches_the_person_who_marks_it(course):
    course('"free"')
    lab = find_lab("01_memory")
    notebook = build_notebook(lab, "student")
    cell_called(notebook, "work_log")["source"] = "| n_params | a router | I asked nobody |"
    master = read_master(build_notebook(lab, "student"), lab.name)
    rebuilt = rebuild(master, read_notebook(json.dumps(notebook).encode(), f"{lab.name}.ipynb"))
    (shown,) = [cell for cell in rebuilt.notebook if cell_name(cell) == "work_log"]
    assert "I asked nobody" in shown["source"] and shown["metadata"]["nbgrader"]["grade"]


def test_the_page_counts_the_log_as_read_by_a_person(course):
    course('"free"')
    row = next(line for line in page_tables()["labs"].splitlines() if "08_papers" in line)
    assert "| 11 | 1 |" in row
    assert "| Work log | 1 |" in find_lab("04").cells[0].text


@pytest.mark.parametrize("ai", ["tutor", "free"])
@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_file_for_agents_has_every_claim_and_hint_and_no_line_of_an_answer(course, lab, ai):
    course(f'"{ai}"')
    text = agents_file(find_lab(lab.name))
    marked = {cell.name for cell in lab.marked}
    for name, checks in checks_of(lab.topic).items():
        assert name not in marked or all(f"| {one.claim} | {one.hint} |" in text for one in checks)
    assert telling_lines(lab, LABS) & lines_of(text) == set()
    assert ("**Bad:**" in text) is (ai == "tutor")


def test_the_eight_labs_have_dialogues_of_their_own():
    assert {f"{number:02}" for number in range(1, 9)} <= {lab.name[:2] for lab in WITH_DIALOGUES}


@pytest.mark.parametrize("lab", WITH_DIALOGUES, ids=lambda lab: lab.name)
def test_a_labs_own_dialogues_are_a_good_and_a_bad_one_about_its_exercises(lab):
    text = agents_file(find_lab(lab.name))
    good, bad = re.findall(r"^### A (?:good|bad) dialogue, about (.*)$", text, re.MULTILINE)
    assert all(name in checks_of(lab.topic) for name in re.findall("`(.*?)`", f"{good} {bad}"))
    said = text.partition("### A bad dialogue")[2].partition("\n## ")[0]
    assert said.count("**Bad:**") == 1 and "**Good:**" not in said and said.rstrip().endswith(")*")
    assert text.partition("### A bad dialogue")[0].count("**Good:**") >= 3


def test_a_lab_of_your_own_has_the_dialogues_of_any_lab():
    assert "### A good dialogue\n" in dialogues_of("quantization")


def test_known_mistakes_stand_below_the_exercise_whose_checks_name_them():
    found = sentences_of("kv_cache")
    assert (
        "Both sines have the same sign. In the first half, b sin w is subtracted."
        in (found["rotate"])
    )
    assert len(found) > 6 and all(len(set(said)) == len(said) for said in found.values())
    text = agents_file(find_lab("04_kv_cache"))
    of_rotate = text.partition("### `rotate`")[2].partition("\n### ")[0]
    assert all(f"\n- {sentence}\n" in of_rotate for sentence in found["rotate"])


def test_each_zip_holds_the_file_for_its_lab():
    lab = LABS[3]
    with zipfile.ZipFile(io.BytesIO(edition_of(lab).zipped(""))) as archive:
        assert archive.read("AGENTS.md").decode() == agents_file(lab)
        assert b"AGENTS.md" in archive.read("README.txt")
