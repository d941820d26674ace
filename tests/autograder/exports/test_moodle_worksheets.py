"""Marks that go back into Moodle's worksheet in its language; rosters that do not fit."""

import csv
import io

import pytest
from deliveries import LANGUAGES, PEOPLE, as_file, worksheet
from recorded import LAB, result_of, without_mark

from autograder.course.roster import read_roster
from autograder.exports import ExportError, ExportOrder, export
from autograder.record.log import ResultLog

MOODLE = ExportOrder("moodle", labs=[LAB])


def graded(out, students):
    log = ResultLog(out / "results.jsonl")
    for student in students:
        log.append(result_of(student, written={}))
    log.close()
    return out


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return graded(tmp_path_factory.mktemp("graded") / "out", PEOPLE)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_worksheet_comes_back_in_its_language_with_only_grades_changed(out, tmp_path, language):
    roster = read_roster(as_file(tmp_path / "ws.csv", worksheet(language)))
    path = tmp_path / "import.csv"
    notes = export(out, MOODLE, path, roster)
    header, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
    lines = worksheet(language)
    assert header == lines[0]
    lines[1][4] = lines[3][4] = "10"
    assert rows == [lines[1], lines[3]]
    assert any("Moodle has locked the grade of 王小明" in note for note in notes)


def test_a_roster_that_is_no_worksheet_is_refused_with_what_was_looked_for_and_found(out, tmp_path):
    roster = read_roster(as_file(tmp_path / "class.csv", [["Name", "組別"], ["Ann Lee", "A"]]))
    with pytest.raises(ExportError) as refused:
        export(out, MOODLE, tmp_path / "import.csv", roster)
    for words in ("Participant 123", "Grade", "Maximum grade", "class.csv has Name, 組別"):
        assert words in str(refused.value)


@pytest.mark.parametrize("n", [6, 120])
def test_a_roster_that_fits_almost_nobody_is_one_sentence_with_five_names(tmp_path, n):
    students = [f"s{i:03}" for i in range(n)]
    out = graded(tmp_path / "out", [*students, "Ann Lee"])
    people = [[f"p{i:03}", "A"] for i in range(n)] + [["Ann Lee", "A"]]
    roster = read_roster(as_file(tmp_path / "ws.csv", [["Name", "Section"], *people]))
    notes = export(out, ExportOrder("csv"), tmp_path / "marks.csv", roster)
    assert notes == [
        f"{LAB}: {n} of {n + 1} marks belong to nobody in ws.csv; is it this course's? "
        f"Among them are s000, s001, s002, s003, s004.",
        f"{LAB}: nothing was handed in by p000; p001; p002; p003; p004; {n - 5} more.",
    ]


def test_a_class_of_which_nobody_has_a_mark_is_one_sentence_without_names(tmp_path):
    log = ResultLog(tmp_path / "results.jsonl")
    for i in range(6):
        log.append(without_mark(f"s{i}"))
    log.close()
    (note,) = export(tmp_path, ExportOrder("csv"), tmp_path / "marks.csv")
    assert note.startswith(f"{LAB}: no mark for all 6 submissions: a person has yet to read ")
