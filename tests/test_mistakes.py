"""The pages of known mistakes say what the checks say today, and give no answer away."""

import re
from dataclasses import replace

import pytest
from classroom import result
from instances import some_of
from leaks import lines_of, telling_lines

from autograder.builder.source import read_course, read_labs
from autograder.pages.feedback import write_feedback
from autograder.pages.render import mistake_page
from autograder.pages.report import write_report
from autograder.pages.statistics import frequent_causes
from autograder.proof.matrix import namespace_of
from autograder.record.results import CheckResult
from labkit.checks import Checker
from labkit.checks.card import with_code
from labkit.checks.core import checks_of
from labkit.checks.outline import outline_of
from labkit.checks.why.mistakes import mistakes_in, mistakes_of
from tests.known import mutants_of
from tests.mistakes import as_json, found_in, json_path, labs, page_of, page_path

WITH_CODE = [lab for lab in labs() if json_path(lab).is_file()]  # a new lab has none yet
NAMES = [lab.name for lab in WITH_CODE]
NUMBER = re.compile(r"-?[\d,]*\.?\d+(e[-+]?\d+)?")


def masked(mistake):
    """What is the same on every machine: rounding differs in the last digits of a case."""
    case = NUMBER.sub("#", mistake.case)
    return mistake.number, mistake.exercise, mistake.says, case, mistake.seen


@pytest.mark.parametrize("lab", WITH_CODE, ids=NAMES)
def test_a_page_is_made_from_its_list_and_numbers_are_unique(lab):
    listed = [*mistakes_of(lab.topic)]
    assert page_path(lab).read_text(encoding="utf-8") == page_of(lab, listed)
    assert json_path(lab).read_text(encoding="utf-8") == as_json(listed)
    numbers = [each.number for each in listed]
    assert len({*numbers}) == len(numbers) > 50
    assert {number.partition(".")[0] for number in numbers} == {str(lab.number)}
    names = {check.name for checks in checks_of(lab.topic).values() for check in checks}
    assert {each.check for each in listed} <= names
    assert all(each.case and each.seen for each in listed)


@pytest.mark.parametrize("lab", WITH_CODE, ids=NAMES)
def test_the_first_mistake_of_each_exercise_is_still_named(lab):
    first = {each.exercise: each for each in reversed(mistakes_of(lab.topic))}
    found = found_in(lab, [(name, each.seen[0]) for name, each in first.items()])
    assert {each.number for each in first.values()} <= {each.number for each in found}


@pytest.mark.parametrize("lab", some_of(WITH_CODE, WITH_CODE[0]), ids=NAMES)
def test_a_list_has_all_that_checks_say_to_known_wrong_answers(lab):
    assert [*map(masked, found_in(lab))] == [*map(masked, mistakes_of(lab.topic))]


def test_no_line_of_an_answer_is_on_a_page():
    every = read_labs()
    telling = telling_lines(every[0], every)
    assert len(telling) > 500
    for lab in WITH_CODE:
        assert telling & lines_of(page_path(lab).read_text(encoding="utf-8")) == set()


def test_questions_with_an_answer_cell_have_no_page():
    for lab in WITH_CODE:
        code = {cell.name for cell in lab.exercises}
        assert {each.exercise for each in mistakes_of(lab.topic)} <= code
    assert mistakes_of("papers") == mistakes_of("no_such_lab") == ()


def test_a_cause_names_each_of_its_alternatives_and_the_longer_of_two():
    one, other = mistakes_of("memory")[:2]
    both = f"{one.says} Or: {other.says}"
    same = [each for each in (one, other) if each.exercise == one.exercise]
    assert mistakes_in("memory", one.exercise, both) == same
    assert mistakes_in("memory", "another", both) == []


def test_notebook_page_and_report_use_one_number(tmp_path):
    lab, known = WITH_CODE[0], mistakes_of("memory")[0]
    sources = {each.title: each.source for each in mutants_of(lab)
               if each.exercise == known.exercise}  # fmt: skip
    namespace = namespace_of(lab, {known.exercise: sources[known.seen[0]]})
    report = Checker("memory", namespace)(known.exercise, 2)
    shown = report._repr_mimebundle_()["text/html"]
    assert shown.count(f"<summary>known mistake {known.number}</summary>") == 1
    assert with_code(known.case) in shown
    section = next(part for part in outline_of("memory") if part.name == known.exercise)
    assert f'<a href="{section.link}"><b>Read:</b> {section.section}</a>' in shown
    found = next(each for each in report.findings if known.says in each.cause)
    check = CheckResult(known.exercise, found.check.name, 0.0, 2.0, False, found.message,
                        status="failed", cause=found.cause)  # fmt: skip
    rows = [result(name, lab=lab.name, checks=[check], score=0.0) for name in ("ann", "bob")]
    page = write_feedback(tmp_path, rows[0]).read_text(encoding="utf-8")
    assert f"<summary>known mistake {known.number}</summary>" in page
    assert f"<code>docs/mistakes/01_memory.md#{known.number.replace('.', '')}</code>" in page
    report = write_report(tmp_path, rows).read_text(encoding="utf-8")
    assert f"<code>docs/mistakes/01_memory.md#{known.number.replace('.', '')}</code>" in report
    [cause] = frequent_causes(rows)
    assert cause.known == (known.number,)
    assert cause.text == f"{found.cause} (known mistake {known.number})"


def test_a_page_links_a_mistake_to_the_course_s_site(monkeypatch):
    course = replace(read_course(), site="https://example.edu/course/")
    monkeypatch.setattr("autograder.pages.render.read_course", lambda: course)
    assert mistake_page("1.28", "01_memory") == (
        '<a href="https://example.edu/course/docs/mistakes/01_memory.html#128">'
        "the page of known mistake 1.28</a>"
    )
    headings = page_path(WITH_CODE[0]).read_text(encoding="utf-8").splitlines()
    assert "### 1.28" in headings  # both GitHub and the site call it #128
    with pytest.raises(ValueError, match="begin with https://"):
        replace(course, site="javascript:alert(1)")


def test_what_is_no_known_mistake_has_no_number(tmp_path):
    check = CheckResult("n_params", "x", 0.0, 2.0, False, "On a hidden case: odd.", "It is even.",
                        status="failed", cause="the number")  # fmt: skip
    rows = [result(name, lab="01_memory", checks=[check], score=0.0) for name in ("ann", "bob")]
    assert "known mistake" not in write_feedback(tmp_path, rows[0]).read_text(encoding="utf-8")
    assert [each.text for each in frequent_causes(rows)] == ["the number"]
