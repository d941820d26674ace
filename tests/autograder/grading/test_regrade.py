"""One exercise again: only its checks are played, and what comes out is what grading gives."""

import shutil
from dataclasses import replace

import nbformat
import pytest
from recorded import LAB, by_hand
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.grading.grade import GradingSettings, grade, write_class
from autograder.grading.pool import Outcome
from autograder.grading.regrade import OTHERS_STAY, RegradeError, plan_regrade
from autograder.record.log import read_results
from autograder.record.marks import marks_of
from autograder.record.results import score_of
from tests.sample_class import samples_of

EXERCISE = "kv_table"
STUDENTS = ("ada", "carol", "greta", "ida", "x19")
MEMORY = find_lab(LAB)
pytestmark = pytest.mark.usefixtures("warm_slots")
RUN = GradingSettings()


@pytest.fixture(scope="module")
def submissions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submissions")
    for sample in samples_of(LAB, STUDENTS):
        sample.write(folder)
    return folder


@pytest.fixture(scope="module")
def graded(submissions, tmp_path_factory):
    """A grading that nothing has disturbed; ada's answers are read, and her page says so."""
    out = tmp_path_factory.mktemp("regrade") / "out"
    grade(MEMORY, submissions, out, replace(RUN, seed=7))
    for name in ("growth", "training_or_generation"):
        by_hand(out, "ada", name, 0.75)
    write_class(out, MEMORY, read_results(out / "results.jsonl"))
    return out


def rows_in(out):
    return {row.student: row for row in read_results(out / "results.jsonl")}


def write_rows(out, rows):
    text = "".join(row.to_json() + "\n" for row in rows.values())
    (out / "results.jsonl").write_text(text)


def with_failed(row, exercise, message):
    """The row as a check of that exercise that is wrong leaves it."""
    checks = [
        replace(check, points=0.0, passed=False, message=message)
        if check.exercise == exercise
        else check
        for check in row.checks
    ]
    return replace(row, checks=checks, score=score_of(checks), key="of yesterday's checks")


@pytest.fixture(scope="module")
def yesterday(graded, tmp_path_factory):
    """The same folder as it was graded while a check of kv_table failed everyone.

    greta's row has something that no check of today says.
    """
    out = tmp_path_factory.mktemp("yesterday") / "out"
    shutil.copytree(graded, out)
    rows = rows_in(out)
    for student in ("ada", "carol", "greta", "x19"):
        rows[student] = with_failed(rows[student], EXERCISE, "a wrong check")
    rows["greta"] = with_failed(rows["greta"], "training", "what stands on record")
    rows["ida"] = replace(rows["ida"], key="of yesterday's checks")
    write_rows(out, rows)
    return out


def files_in(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def plan(submissions, yesterday):
    """What a regrade finds; it must not touch the folder."""
    before = files_in(yesterday)
    plan = plan_regrade(MEMORY, submissions, yesterday, EXERCISE, RUN)
    assert files_in(yesterday) == before
    return plan


@pytest.fixture(scope="module")
def regraded(plan, tmp_path_factory):
    """The folder after the plan was written."""
    out = tmp_path_factory.mktemp("regraded") / "out"
    shutil.copytree(plan.out, out)
    replace(plan, out=out).write()
    return out


def test_the_changes_are_shown_with_old_and_new_marks_and_their_checks(plan):
    changes = {change.student: change for change in plan.changes()}
    assert set(changes) == {"ada", "greta"}  # the others lose these points rightly
    assert changes["ada"].after.by_checks - changes["ada"].before.by_checks == 0.75
    assert (changes["ada"].before.total, changes["ada"].after.total) == (9.25, 10.0)
    assert changes["greta"].after.total is None
    text = "\n".join(plan.lines())
    assert "kv_table of 01_memory: 2 of 5 change." in text
    assert "ada: 7.75 -> 8.5 by checks, 9.25 -> 10 in all; kv_table, " in text
    assert plan.in_full == ()


def test_who_earns_the_same_of_a_lab_with_other_points_is_not_listed(plan):
    before = {name: replace(row, max_score=row.max_score - 1) for name, row in plan.before.items()}
    other = replace(plan, before=before)
    assert {change.student for change in other.changes()} == {"ada", "greta"}
    assert "The checks of the lab now give 8.5 points; they gave 7.5." in other.lines()
    assert not any("now give" in line for line in plan.lines())


def test_only_the_checks_of_that_exercise_are_played(plan):
    result = next(o.result for o in plan.outcomes if o.result.student == "greta")
    kept = [check for check in result.checks if check.exercise == "training"]
    assert {check.message for check in kept} == {"what stands on record"}
    assert all(check.passed for check in result.checks if check.exercise == EXERCISE)


def test_written_it_is_what_an_undisturbed_grading_gives(regraded, graded):
    old, new = (
        {
            name: row.without_measurements() | {"key": ""}
            for name, row in rows_in(out).items()
            if name != "greta"
        }
        for out in (graded, regraded)
    )
    assert new == old
    for name in old:
        for path in (f"feedback/{LAB}/{name}.html", f"course/autograded/{name}/{LAB}/{LAB}.ipynb"):
            assert (regraded / path).read_bytes() == (graded / path).read_bytes()


def test_the_gradebook_follows_and_marks_by_hand_stay(regraded):
    marks = {mark.student: mark for mark in marks_of(regraded)}
    assert marks["ada"].total == 10.0
    path = regraded / "course" / "autograded" / "greta" / LAB / f"{LAB}.ipynb"
    scores = {
        cell.metadata.nbgrader.grade_id: float(cell.outputs[-1].data["text/plain"])
        for cell in nbformat.read(path, as_version=4).cells
        if cell.metadata.get("nbgrader", {}).get("grade") and cell.cell_type == "code"
    }
    assert sum(scores.values()) == pytest.approx(rows_in(regraded)["greta"].score, abs=0.02)
    assert (scores[f"check_{EXERCISE}"], scores["check_training"]) == (0.75, 0)


def test_a_later_grading_grades_in_full_what_kept_its_other_exercises(
    plan, regraded, graded, submissions, tmp_path
):
    """The training of greta is as a check that has changed since left it."""
    assert OTHERS_STAY in plan.lines()
    assert {row.key for row in rows_in(regraded).values()} == {"of yesterday's checks"}
    out = tmp_path / "out"
    shutil.copytree(regraded, out)
    shutil.copytree(submissions / "greta", tmp_path / "in" / "greta")
    write_rows(out, {"greta": rows_in(out)["greta"]})
    grade(MEMORY, tmp_path / "in", out, RUN)
    mended, right = rows_in(out)["greta"], rows_in(graded)["greta"]
    assert mended.without_measurements() == right.without_measurements()
    again = plan_regrade(MEMORY, tmp_path / "in", out, EXERCISE, RUN)
    assert again.lines() == ["kv_table of 01_memory: 0 of 1 change."]  # no check has changed since


def test_a_record_that_has_changed_meanwhile_is_not_overwritten(plan, yesterday, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(yesterday, out)
    rows = rows_in(out)
    rows["ada"] = replace(rows["ada"], problem="Something else.")
    write_rows(out, rows)
    with pytest.raises(RegradeError, match="have changed meanwhile"):
        replace(plan, out=out).write()
    assert rows_in(out) == rows


def test_whatever_is_not_certainly_the_recorded_file_is_graded_in_full(
    submissions, yesterday, tmp_path, monkeypatch
):
    """What is to be played is written down here instead of being played.

    The row of x19 is of a version that judged all on cases of the folder's seed.
    """
    folder, out, played = tmp_path / "in", tmp_path / "out", {}
    for student in ("ada", "carol", "greta", "x19"):
        shutil.copytree(submissions / student, folder / student)
    shutil.copytree(yesterday, out)
    rows = rows_in(out)
    rows["x19"] = replace(rows["x19"], versions=rows["x19"].versions | {"seed": "7"})
    write_rows(out, rows)
    shutil.copy(submissions / "carol" / LAB / f"{LAB}.ipynb", folder / "ada" / LAB)
    (folder / "greta" / LAB / "data.txt").write_text("beside it")

    def outcomes(grading, works, exercises):
        played[exercises] = {work.student for work in works}
        row = rows_in(yesterday)["carol"]
        return {each.key: Outcome(each.submission, row, []) for w in works for each in w.attempts}

    monkeypatch.setattr("autograder.grading.regrade._outcomes", outcomes)
    plan = plan_regrade(MEMORY, folder, out, EXERCISE, RUN)
    assert played == {(EXERCISE,): {"carol"}, (): {"ada", "greta", "x19"}}
    assert (plan.in_full, plan.absent) == (("ada", "greta", "x19"), ("ida",))
    keys = {outcome.result.student: outcome.result.key for outcome in plan.outcomes}
    assert set(keys) == {"ada", "carol", "greta", "x19"}
    assert {name for name, key in keys.items() if key == "of yesterday's checks"} == {"carol"}


@pytest.mark.parametrize(
    ("exercise", "words"),
    [("no_such", "has no exercise no_such; it has n_params"), ("growth", "has no exercise")],
)
def test_an_unknown_exercise_is_told_with_the_known_ones(graded, submissions, exercise, words):
    with pytest.raises(RegradeError, match=words):
        plan_regrade(MEMORY, submissions, graded, exercise, RUN)


def test_a_folder_without_results_is_told(submissions, tmp_path):
    with pytest.raises(RegradeError, match="grade it first"):
        plan_regrade(MEMORY, submissions, tmp_path, EXERCISE, RUN)
    assert not list(tmp_path.iterdir())


def test_the_command_shows_the_changes_and_writes_only_when_told(
    submissions, yesterday, tmp_path, monkeypatch
):
    """The checks say what stands on record, but for ada's."""
    out = tmp_path / "out"
    shutil.copytree(yesterday, out)
    before = files_in(out)

    def outcomes(grading, works, exercises):
        played = {}
        for work in works:
            row = rows_in(out)[work.student]
            checks = [check for check in row.checks if check.exercise == EXERCISE]
            if work.student == "ada":
                checks = [replace(each, points=each.max_points, passed=True) for each in checks]
            attempt = work.attempts[0]
            played[attempt.key] = Outcome(attempt.submission, replace(row, checks=checks), [])
        return played

    monkeypatch.setattr("autograder.grading.regrade._outcomes", outcomes)
    arguments = ["regrade", "01", submissions, "-o", out, "--exercise", EXERCISE]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 0
    shown = done.stdout.splitlines()
    assert shown[0] == "kv_table of 01_memory: 1 of 5 change."
    assert shown[1].startswith("ada: 7.75 -> 8.5 by checks")
    assert shown[-1] == "Nothing is written; --write does it."
    assert files_in(out) == before
    done = CliRunner().invoke(app, [str(argument) for argument in [*arguments, "--write"]])
    assert done.stdout.splitlines()[-1] == "Written."
    assert rows_in(out)["ada"].score == 8.5


def test_a_wrong_regrade_command_is_one_sentence_and_status_2(submissions, tmp_path):
    arguments = ["regrade", "01", submissions, "-o", tmp_path / "none", "--exercise", EXERCISE]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 2
    assert (
        done.stderr == f"autograder: {tmp_path / 'none'} has no results of {LAB}: grade it first\n"
    )
