"""The log survives the grader: torn lines, damaged lines, two writers, and a fixed order."""

import json
from contextlib import closing
from dataclasses import asdict

import jsonschema
import pytest

from autograder.pages.report import write_feedback, write_report
from autograder.record.log import BusyError, ResultLog, read_results
from autograder.record.results import RESULT_SCHEMA, CheckResult, Result

CHECK = CheckResult("area", "is_round", 0.0, 1.0, False, "expected <3>, got 2", "A claim.", "Hint.")


def result(student, score=1.0, **fields):
    return Result(student, "lab", "graded", score, 2.0, [CHECK], {"why": 2.0}, **fields)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "results.jsonl"


@pytest.fixture
def log(path):
    log = ResultLog(path)
    yield log
    log.close()


def test_a_result_comes_back_as_it_went_in(log, path):
    log.append(result("Zoë 雪", flags=["x"], seconds=0.5))
    assert read_results(path) == [result("Zoë 雪", flags=["x"], seconds=0.5)]


def test_no_character_of_a_message_splits_a_line(log, path):
    log.append(result("a", problem="x\u2028y\x85z\x0b"))
    log.append(result("b"))
    assert [one.student for one in read_results(path)] == ["a", "b"]


def test_results_follow_the_schema():
    for one in (result("a"), result("b", None)):
        jsonschema.validate(json.loads(one.to_json()), RESULT_SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(result("a", -1.0).to_json()), RESULT_SCHEMA)


@pytest.mark.parametrize("n_bytes", [1, 20, 200])
def test_a_torn_last_line_is_dropped_and_the_next_one_starts_fresh(path, n_bytes):
    log = ResultLog(path)
    log.append(result("a"))
    log.append(result("b"))
    log.close()
    path.write_bytes(path.read_bytes()[:-n_bytes])
    log = ResultLog(path)
    assert list(log.results) == [("lab", "a")]
    log.append(result("c"))
    log.close()
    assert [one.student for one in read_results(path)] == ["a", "c"]


def test_a_damaged_line_costs_only_itself(path):
    log = ResultLog(path)
    for student in "abc":
        log.append(result(student))
    log.close()
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], '{"student": "b"}', "\x00garbage", lines[2]]) + "\n")
    assert [one.student for one in read_results(path)] == ["a", "c"]


def test_a_mark_that_has_changed_on_the_disk_is_not_believed(log, path, caplog):
    for student in "ab":
        log.append(result(student))
    path.write_text(path.read_text().replace('"score": 1.0', '"score": 2.0', 1))
    assert [one.student for one in read_results(path)] == ["b"]
    assert "line 1 of" in caplog.text
    assert "is damaged" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [{"student": ""}, {"student": ["x"]}, {"score": "1"}, {"flags": 3}, {"versions": None},
     {"late_factor": "x"}, {"checks": [{"points": "x"}]}, {"more": 1}],
    ids=str,
)  # fmt: skip
def test_what_is_no_result_is_not_read_as_one(wrong):
    fields = asdict(result("a"))
    assert Result.from_json(json.dumps(fields)) == result("a")
    with pytest.raises(ValueError, match="not a result"):
        Result.from_json(json.dumps(fields | wrong))


@pytest.mark.parametrize("line", ["", "{", "[]", "3", "[" * 9000])
def test_what_is_no_object_is_no_result(line):
    with pytest.raises(ValueError):
        Result.from_json(line)


def test_the_last_line_of_a_student_counts(log, path):
    log.append(result("a", 1.0))
    log.append(result("a", 2.0))
    assert [one.score for one in read_results(path)] == [2.0]


def test_finishing_sorts_and_drops_who_is_gone_but_no_other_lab(log, path):
    for student in "cab":
        log.append(result(student))
    log.append(Result("x", "another", "graded", 1.0, 1.0))
    log.finish("lab", {"a", "c"})
    assert [(one.lab, one.student) for one in read_results(path)] == [
        ("another", "x"),
        ("lab", "a"),
        ("lab", "c"),
    ]


def test_two_gradings_cannot_write_to_one_folder(log, path):
    with pytest.raises(BusyError, match="wait"):
        ResultLog(path)


def test_pages_escape_what_students_wrote(tmp_path):
    name = "<script>alert(1)</script>"
    page = write_feedback(tmp_path, result("ann", file_name=name)).read_text()
    report = write_report(tmp_path, [result("ann", problem=name)]).read_text()
    assert name not in page + report
    assert "expected &lt;3&gt;, got 2" in page
    assert "A claim." in page
    assert "Hint." in page


def test_a_damaged_line_is_kept_for_somebody_who_can_read_it(path):
    with closing(ResultLog(path)) as log:
        log.append(result("a"))
    path.write_text(path.read_text() + '{"of": "another version"}\n')
    with closing(ResultLog(path)) as log:
        log.finish("other", set())
    assert [one.student for one in read_results(path)] == ["a"]
    assert path.with_suffix(".damaged").read_text() == '{"of": "another version"}\n'
