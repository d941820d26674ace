"""Attempts, equal files, shards and scratch: what is graded, once, and which of it counts."""

import json
import shutil
from contextlib import closing
from dataclasses import replace

import pytest

from autograder.builder.source import find_lab
from autograder.course.policy import Policy, read_policy
from autograder.errors import Refusal
from autograder.grading.attempts import contents_of, counted_works, due_works, works_of
from autograder.grading.grade import GradingSettings, grade, grade_shard
from autograder.grading.pool import Outcome
from autograder.grading.scratch import LOCK, clear_leftovers, scratch_folder
from autograder.grading.spool import Spool, shard_of
from autograder.intake.collect import Submission
from autograder.record.folder import policy_of, remember, seed_of
from autograder.record.log import ResultLog, read_results
from autograder.record.results import ERROR, GRADED, UNGRADABLE, Result
from tests.sample_class import samples_of

LAB = "01_memory"
RUN = GradingSettings(seed=5, sandbox=True)
POLICY = """
timezone = "Asia/Taipei"
attempts = "best"
late = {late}
[deadlines]
01_memory = 2026-10-15T23:59:59
"""
pytestmark = pytest.mark.usefixtures("warm_slots")
IN_TIME, LATE = "2026-10-15T20:00:00+08:00", "2026-10-16T20:00:00+08:00"


@pytest.fixture
def policy(tmp_path):
    def write(late="{ per_day = 0.25 }", **changes):
        (tmp_path / "policy.toml").write_text(POLICY.format(late=late))
        return replace(read_policy(tmp_path / "policy.toml"), **changes)

    return write


def attempt(number, text=b"", at=IN_TIME, student="ann"):
    return Submission(student, "x.ipynb", text, attempt=number, submitted_at=at)


def outcome_of(submission, score, status=GRADED):
    problem = "It cannot be read." if status == UNGRADABLE else ""
    return Outcome(submission, Result("nobody", LAB, status, score, 10.0, problem=problem), [])


def mark(policy, *attempts_and_scores):
    """The row of the attempt that counts, where each attempt comes with its score and status."""
    submissions = [submission for submission, *_ in attempts_and_scores]
    (work,) = works_of(submissions, LAB, policy, b"")
    by_content = {each.content: rest for each, *rest in attempts_and_scores}
    outcomes = {
        key: outcome_of(each, *by_content[each.content])
        for key, each in contents_of([work]).items()
    }
    return work.counted(outcomes).result


def test_the_best_attempt_counts_after_what_lateness_takes(policy):
    early, late = attempt(1, b"1"), attempt(2, b"2", LATE)
    row = mark(policy(), (early, 7.0), (late, 9.0))
    assert (row.student, row.attempt, row.n_attempts, row.late_factor) == ("ann", 1, 2, 1.0)
    row = mark(policy(), (early, 6.0), (late, 9.0))
    assert (row.attempt, row.late_factor, row.score) == (2, 0.75, 9.0)
    assert "late by 1 started day" in row.late


def test_of_equal_attempts_the_latest_counts(policy):
    assert mark(policy(), (attempt(1, b"1"), 7.0), (attempt(2, b"2"), 7.0)).attempt == 2


def test_the_last_attempt_counts_where_the_policy_says_so(policy):
    last = policy(attempts="last")
    assert mark(last, (attempt(1, b"1"), 9.0), (attempt(2, b"2"), 3.0)).attempt == 2


@pytest.mark.parametrize("rule", ["best", "last"])
def test_a_refused_attempt_never_counts_beside_one_in_time(policy, rule):
    strict = policy('"refuse"', attempts=rule)
    late = attempt(2, b"2", LATE)
    for score, status in ((0.0, GRADED), (None, UNGRADABLE), (3.0, GRADED)):
        assert mark(strict, (attempt(1, b"1"), score, status), (late, 10.0)).attempt == 1
    alone = mark(strict, (late, 10.0))
    assert (alone.score, alone.late_factor) == (10.0, 0.0)


def test_while_an_attempt_failed_by_our_fault_there_is_no_mark(policy):
    row = mark(policy(), (attempt(1, b"1"), None, ERROR), (attempt(2, b"2"), 9.0))
    assert (row.status, row.score) == (ERROR, None)


def test_a_later_attempt_that_nobody_can_read_is_told(policy):
    row = mark(policy(), (attempt(1, b"1"), 0.0), (attempt(2, b"2"), None, UNGRADABLE))
    assert (row.attempt, row.score, row.problem) == (1, 0.0, "Attempt 2: It cannot be read.")


def test_a_row_is_due_again_once_anything_behind_it_changes(policy):
    first, second = attempt(1, b"1"), attempt(2, b"2")
    (work,) = works_of([first], LAB, policy(), b"checks")
    known = {"ann": replace(outcome_of(first, 7.0).result, key=work.key)}
    assert due_works([work], known) == []
    for changed in (
        works_of([first, second], LAB, policy(), b"checks"),
        works_of([first], LAB, policy(), b"other checks"),
        works_of([replace(first, content=b"new")], LAB, policy(), b"checks"),
        works_of([replace(first, submitted_at=LATE)], LAB, policy(), b"checks"),
    ):
        assert due_works(changed, known) == changed
    assert due_works([work], {"ann": replace(known["ann"], status=ERROR)}) == [work]


def test_equal_files_are_graded_once_and_everybody_gets_a_row():
    group = [attempt(1, b"same", student=name) for name in ("ann", "bob")]
    works = works_of([*group, attempt(1, b"own", student="cem")], LAB, Policy(), b"")
    todo = contents_of(works)
    assert sorted(each.content for each in todo.values()) == [b"own", b"same"]
    outcomes = ((key, outcome_of(each, 5.0)) for key, each in todo.items())
    rows = [outcome.result.student for outcome in counted_works(works, outcomes)]
    assert sorted(rows) == ["ann", "bob", "cem"]


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_shards_share_everything_and_nothing_twice(n):
    parts = [list(range(20))[shard_of(f"{i}/{n}")] for i in range(1, n + 1)]
    assert sorted(item for part in parts for item in part) == list(range(20))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["", "0/3", "4/3", "1", "1/0", "-1/2", "a/b", "1/2/3"])
def test_a_wrong_shard_is_one_sentence(text):
    with pytest.raises(Refusal, match="--shard needs"):
        shard_of(text)


def test_shards_that_start_together_have_one_seed(tmp_path):
    assert len({seed_of(tmp_path, None) for _ in range(5)}) == 1
    assert seed_of(tmp_path, 7) == seed_of(tmp_path, None) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["seed"]


def test_a_policy_is_remembered(tmp_path, policy):
    policy()
    out, asked = tmp_path / "out", tmp_path / "policy.toml"
    assert policy_of(out) == Policy()
    remember(out, asked, None)
    assert policy_of(out) == policy_of(out, asked) != Policy()


@pytest.mark.parametrize("place", ["missing", "busy"])
def test_a_grading_that_is_refused_leaves_policy_and_roster_as_they_were(tmp_path, policy, place):
    policy()
    (tmp_path / "people.csv").write_text("Name,Student ID\nAnn,B1\n")
    folder, out = tmp_path / "in", tmp_path / "out"
    if place != "missing":
        (folder / "ann").mkdir(parents=True)
        (folder / "ann" / "x.ipynb").write_text("{}")
    lock = ResultLog(out / "results.jsonl") if place == "busy" else None
    run = GradingSettings(policy=tmp_path / "policy.toml", roster=tmp_path / "people.csv")
    with pytest.raises(Refusal):
        grade(find_lab(LAB), folder, out, run)
    assert not (out / "policy.toml").exists()
    assert not (out / "roster.csv").exists()
    if lock:
        lock.close()


def test_a_grading_without_most_of_the_class_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "late.ipynb").write_text("{}")
    with closing(ResultLog(tmp_path / "out" / "results.jsonl")) as log:
        for student in ("ann", "bob", "cem", "dan", "late"):
            log.append(Result(student, LAB, GRADED, 1.0, 10.0))
    with pytest.raises(Refusal, match="of 5 students on record for 01_memory 4 are not among"):
        grade(find_lab(LAB), tmp_path / "in", tmp_path / "out", RUN)
    assert len(read_results(tmp_path / "out" / "results.jsonl")) == 5


def test_a_seed_that_is_no_number_is_told(tmp_path):
    (tmp_path / "seed").write_text("")
    with pytest.raises(Refusal, match="holds no number"):
        seed_of(tmp_path, None)


def test_an_outcome_that_cannot_be_read_is_as_none(tmp_path):
    spool, submission = Spool(tmp_path, LAB), attempt(1)
    spool.put("key", outcome_of(submission, 5.0))
    assert spool.take("key", submission) == outcome_of(submission, 5.0)
    (path,) = tmp_path.rglob("*.json")
    path.write_text(path.read_text()[:-9])
    assert spool.take("key", submission) is None
    spool.clear()
    assert list(tmp_path.iterdir()) == []


def test_scratch_of_a_killed_grader_is_cleared_and_that_of_a_living_one_stays(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder() as living:
        killed = tmp_path / "autograder-killed"
        killed.mkdir()
        (killed / LOCK).touch()
        (tmp_path / "autograder-other").mkdir()
        clear_leftovers()
        assert not killed.exists()
        assert living.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["autograder-other"]


def products(out):
    pages = {p.relative_to(out): p.read_bytes() for p in (out / "feedback").rglob("*.html")}
    rows = [row.without_measurements() for row in read_results(out / "results.jsonl")]
    return rows, (out / "marks.csv").read_bytes(), (out / "report.html").read_bytes(), pages


def test_shards_and_then_the_whole_give_the_same_bytes_as_one_grading(tmp_path):
    lab, place = find_lab(LAB), tmp_path / "in"
    for sample in samples_of(LAB, ("ada", "carol", "emil", "ida")):
        sample.write(place)
    shutil.copytree(place / "ada", place / "copy")
    grade(lab, place, tmp_path / "one", RUN)
    for i in (1, 2):
        assert len(grade_shard(lab, place, tmp_path / "shards", RUN, shard_of(f"{i}/2"))) in (2, 3)
    assert not (tmp_path / "shards" / "results.jsonl").exists()
    (left,) = (tmp_path / "shards" / "outcomes").iterdir()
    assert len(list(left.iterdir())) == 4  # ada and her copy are one
    seconds = {json.loads(path.read_text())["result"]["seconds"] for path in left.glob("*.json")}
    grade(lab, place, tmp_path / "shards", RUN)
    rows = read_results(tmp_path / "shards" / "results.jsonl")
    assert {row.seconds for row in rows} == seconds  # taken over, not graded again
    assert products(tmp_path / "shards") == products(tmp_path / "one")
    assert not (tmp_path / "shards" / "outcomes").exists()
