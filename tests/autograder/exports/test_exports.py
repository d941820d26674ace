"""Exports: what Canvas, Moodle and Gradescope document that they take, with hostile names."""

import csv
import hashlib
import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace

import jsonschema
import pytest
from recorded import LAB, result_of, without_mark
from typer.testing import CliRunner

from autograder.cli import app
from autograder.course.roster import read_roster
from autograder.exports import ExportError, ExportOrder, export
from autograder.record.log import ResultLog
from autograder.record.results import ERROR

OTHER = "08_papers"
NAMES = {
    "r01": '=HYPERLINK("http://x","y")',
    "r02": 'O\'Neil, "Ann" <b>',
    "r03": "王小明",
    "r04": "Li, Wei\nLine; two",
    "r05": "Zoë, Ünï; +1",
    "r06": "Absent, Al",
    "r07": "@Excused, Eve",
    "r08": "Unread, Una",
}
GRADED = [
    result_of("r01", written={}),
    result_of("r02", fails=("kv_table",), written={}),
    result_of("王小明", written={}, late="Late: half is left.", late_factor=0.5),
    result_of("r04", written={}),
    without_mark("r05", status=ERROR, written={}),
    without_mark("r08", written={}),
    result_of("r07", written={}),
    result_of("stranger\x1b[2J", written={}),
    result_of("r01", lab=OTHER, written={}),
]
CANVAS = [
    ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"Lab {LAB} (4711)",
     "Quiz 8 (4712)", "Essay (4713)", "Current Score", "Final Score"],
    ["", "", "", "", "", "Manual Posting", "", "", "", ""],
    ["    Points Possible", "", "", "", "", "10.00", "10.00", "20.00", "(read only)",
     "(read only)"],
]  # fmt: skip
MOODLE = ["Identifier", "Full name", "ID number", "Email address", "Status", "Grade",
          "Maximum grade", "Grade can be changed", "Last modified (submission)",
          "Last modified (grade)", "Feedback comments"]  # fmt: skip
GRADESCOPE_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score"],
    "properties": {
        "score": {"type": "number", "minimum": 0},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": {"$ref": "#/$defs/format"},
        "test_output_format": {"$ref": "#/$defs/format"},
        "test_name_format": {"$ref": "#/$defs/format"},
        "visibility": {"$ref": "#/$defs/visibility"},
        "stdout_visibility": {"$ref": "#/$defs/visibility"},
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": {"$ref": "#/$defs/format"},
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": {"$ref": "#/$defs/format"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": {"$ref": "#/$defs/visibility"},
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
    "$defs": {
        "format": {"enum": ["text", "html", "simple_format", "md", "ansi"]},
        "visibility": {"enum": ["hidden", "after_due_date", "after_published", "visible"]},
    },
}


def as_file(path, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def rows_of(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("exports") / "out"
    log = ResultLog(out / "results.jsonl")
    for result in GRADED:
        log.append(result)
    log.close()
    return out


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory):
    """What Canvas exports: marks that stand there already, an excused person, nobody's column."""
    before = {"r06": "3.5", "r07": "EX", "r05": "1"}
    people = [
        [name, str(900 + i), f"SIS{i}", login, "A, and B", before.get(login, ""), "", "7", "", ""]
        for i, (login, name) in enumerate(NAMES.items())
    ]
    return as_file(tmp_path_factory.mktemp("canvas") / "canvas.csv", CANVAS + people)


@pytest.fixture(scope="module")
def worksheet(tmp_path_factory):
    """What Moodle exports; r02's grade is locked, r06 has one."""
    people = [
        [f"Participant {500 + i}", name, login, f"{login}@x.edu", "Submitted for grading",
         "3.50" if login == "r06" else "", "10.00", "No" if login == "r02" else "Yes",
         "-", "-", f"old comment of {login}"]
        for i, (login, name) in enumerate(NAMES.items())
    ]  # fmt: skip
    return as_file(tmp_path_factory.mktemp("moodle") / "moodle.csv", [MOODLE, *people])


def canvas_takes(content, before):
    """The marks in Canvas after an import, by its documented rules. before: by id and title."""
    header, *rows = rows_of(content)
    assert "Student" in header[0]
    assert header[1:5] == ["ID", "SIS User ID", "SIS Login ID", "Section"]
    after = {number: dict(marks) for number, marks in before.items()}
    for row in rows:
        assert len(row) == len(header)
        if "Points Possible" in row[0]:
            assert all(float(points) > 0 for points in row[5:])
            continue
        for title, mark in zip(header[5:], row[5:], strict=True):
            assert not mark or mark == "EX" or float(mark) >= 0
            after[row[1]][title] = mark  # an empty cell erases what stood there
    return after


def in_canvas(gradebook):
    header, _, _, *rows = rows_of(gradebook.read_bytes())
    return {row[1]: dict(zip(header[5:8], row[5:8], strict=True)) for row in rows}


def test_canvas_gets_complete_marks_and_keeps_everything_else(out, gradebook, tmp_path):
    path = tmp_path / "import.csv"
    order = ExportOrder("canvas", labs=[LAB])
    export(out, order, path, read_roster(gradebook))
    before = in_canvas(gradebook)
    after = canvas_takes(path.read_bytes(), before)
    changed = {
        (number, title): mark
        for number, marks in after.items()
        for title, mark in marks.items()
        if before[number][title] != mark
    }
    column = f"Lab {LAB} (4711)"
    assert changed == {
        (str(900 + i), column): mark for i, mark in enumerate(("10", "8.5", "5", "10"))
    }
    assert "Essay" not in path.read_text(encoding="utf-8")


def test_canvas_names_come_back_as_they_were(out, gradebook, tmp_path):
    path = tmp_path / "import.csv"
    export(out, ExportOrder("canvas", labs=[LAB]), path, read_roster(gradebook))
    _, _, *rows = rows_of(path.read_bytes())
    assert [row[0] for row in rows] == list(NAMES.values())[:4]  # those who have a mark


def test_whoever_has_no_mark_and_every_mark_without_a_person_is_told(out, gradebook, tmp_path):
    order = ExportOrder("canvas", labs=[LAB])
    notes = export(out, order, tmp_path / "import.csv", read_roster(gradebook))
    told = "\n".join(notes)
    assert "no mark for Unread, Una: a person has yet to read everything." in told
    assert "no mark for Zoë, Ünï; +1: our error: grade again." in told
    assert "stranger?[2J (10 points) belongs to nobody" in told
    assert "nothing was handed in by Absent, Al." in told
    assert "EX of @Excused, Eve stays in Canvas, not 10." in told
    assert f"{LAB}: written to Canvas's column Lab {LAB} (4711)." in notes
    assert len(notes) == 6
    assert "\x1b" not in told


def test_a_column_of_other_points_is_refused_until_it_is_asked_for(out, gradebook, tmp_path):
    order = ExportOrder("canvas", labs=[OTHER], columns={OTHER: "Essay"})
    with pytest.raises(ExportError, match=r"--points 08_papers=20\.00 to convert"):
        export(out, order, tmp_path / "x.csv", read_roster(gradebook))
    assert not (tmp_path / "x.csv").exists()
    order = replace(order, points={OTHER: 20})
    export(out, order, tmp_path / "x.csv", read_roster(gradebook))
    after = canvas_takes((tmp_path / "x.csv").read_bytes(), in_canvas(gradebook))
    assert after["900"]["Essay (4713)"] == "20"
    assert after["901"]["Essay (4713)"] == "7"


def test_a_lab_without_a_column_is_refused_and_the_columns_are_named(out, gradebook, tmp_path):
    with pytest.raises(ExportError, match=r"Quiz 8 \(4712\)"):
        export(out, ExportOrder("canvas", labs=[OTHER]), tmp_path / "x.csv", read_roster(gradebook))
    with pytest.raises(ExportError, match="has 0 columns called 'Final Score'"):
        order = ExportOrder("canvas", labs=[OTHER], columns={OTHER: "Final Score"})
        export(out, order, tmp_path / "x.csv", read_roster(gradebook))


def test_two_labs_in_one_column_are_refused(out, gradebook, tmp_path):
    order = ExportOrder(
        "canvas", points={LAB: 20, OTHER: 20}, columns={LAB: "Essay", OTHER: "Essay"}
    )
    with pytest.raises(ExportError, match=r"01_memory, 08_papers would all go into .* Essay "):
        export(out, order, tmp_path / "x.csv", read_roster(gradebook))
    assert not (tmp_path / "x.csv").exists()


def test_a_lab_whose_points_nobody_knows_has_no_mark_on_any_scale(gradebook, tmp_path):
    log = ResultLog(tmp_path / "results.jsonl")
    log.append(replace(without_mark("r01", written={}, late_factor=0.0), max_score=0.0))
    log.close()
    order = ExportOrder("csv", points={LAB: 25})
    notes = export(tmp_path, order, tmp_path / "x.csv", read_roster(gradebook))
    assert any("does not say how many points the lab has" in note for note in notes)
    assert rows_of((tmp_path / "x.csv").read_bytes())[1][4] == ""


@pytest.mark.parametrize(
    ("title", "is_it"),
    [
        ("01_memory", True),
        ("Lab 01: Memory", True),
        ("HW-01 memory!", True),
        ("CS101 Memory", False),
        ("Lab 01 memorylane", False),
        ("01 and Memory", False),
    ],
)
def test_a_column_is_taken_for_a_labs_only_if_its_title_holds_the_name(out, tmp_path, title, is_it):
    roster = as_file(
        tmp_path / "canvas.csv",
        [["Student", "ID", "SIS Login ID", "Section", f"{title} (1)"], ["A", "1", "r01", "", ""]],
    )
    order = ExportOrder("canvas", labs=[LAB])
    if is_it:
        notes = export(out, order, tmp_path / "x.csv", read_roster(roster))
        assert f"{LAB}: written to Canvas's column {title} (1)." in notes
        assert any("does not say how many points Canvas has" in note for note in notes)
    else:
        with pytest.raises(ExportError, match="has 0 columns whose name holds 01_memory"):
            export(out, order, tmp_path / "x.csv", read_roster(roster))


def test_an_address_that_two_people_share_is_refused(out, tmp_path):
    rows = [["SID", "Email", "Name"], ["r01", "a@x.edu", "A"], ["r02", "A@x.edu ", "B"]]
    roster = read_roster(as_file(tmp_path / "roster.csv", rows))
    with pytest.raises(ExportError, match=r"a@x.edu more than once"):
        export(out, ExportOrder("gradescope", labs=[LAB]), tmp_path / "x.zip", roster)


def test_two_submissions_of_one_person_give_no_mark_but_a_note(gradebook, tmp_path):
    log = ResultLog(tmp_path / "results.jsonl")
    log.append(result_of("r03", written={}))
    log.append(result_of("王小明", written={}, fails=("kv_table",)))
    log.close()
    notes = export(tmp_path, ExportOrder("canvas"), tmp_path / "x.csv", read_roster(gradebook))
    after = canvas_takes((tmp_path / "x.csv").read_bytes(), in_canvas(gradebook))
    assert after == in_canvas(gradebook)
    assert any("they have more than one submission (r03, 王小明)" in note for note in notes)


def test_moodle_gets_grades_for_the_open_rows_only(out, worksheet, tmp_path):
    path = tmp_path / "import.csv"
    notes = export(out, ExportOrder("moodle", labs=[LAB]), path, read_roster(worksheet))
    (header, *new), (_, *before) = rows_of(path.read_bytes()), rows_of(worksheet.read_bytes())
    assert header == MOODLE
    rows = {row[2]: dict(zip(MOODLE, row, strict=True)) for row in new}
    old = {row[2]: dict(zip(MOODLE, row, strict=True)) for row in before}
    grades = {login: row["Grade"] for login, row in rows.items()}
    assert grades == {"r01": "10", "r03": "5", "r04": "10", "r07": "10"}
    assert all(row | {"Grade": ""} == old[login] | {"Grade": ""} for login, row in rows.items())
    assert any("Moodle has locked the grade of O'Neil" in note for note in notes)
    assert all(float(row["Grade"]) <= float(row["Maximum grade"]) for row in rows.values())


def test_moodle_takes_one_lab_at_a_time(out, worksheet, tmp_path):
    with pytest.raises(ExportError, match="is of one lab, got 01_memory, 08_papers"):
        export(out, ExportOrder("moodle"), tmp_path / "x.csv", read_roster(worksheet))


@pytest.fixture(scope="module")
def autograder_zip(out, worksheet, tmp_path_factory):
    path = tmp_path_factory.mktemp("gradescope") / "autograder.zip"
    order = ExportOrder("gradescope", labs=[LAB], points={LAB: 25})
    export(out, order, path, read_roster(worksheet))
    return path


def result_file(login):
    digest = hashlib.sha256(f"{login}@x.edu".encode()).hexdigest()
    return f"results/{digest}.json"


def test_gradescope_results_have_the_documented_form(autograder_zip):
    with zipfile.ZipFile(autograder_zip) as archive:
        names = archive.namelist()
        assert {"setup.sh", "run_autograder"} <= set(names)
        assert {name for name in names if name.startswith("results/")} == {
            result_file(login) for login in ("r01", "r02", "r03", "r04", "r07")
        }
        results = {
            login: json.loads(archive.read(result_file(login))) for login in ("r01", "r02", "r03")
        }
    for result in results.values():
        jsonschema.validate(result, GRADESCOPE_SCHEMA)
    assert [results[login]["score"] for login in results] == [25, 21.25, 12.5]
    assert "Late: half is left." in results["r03"]["output"]
    failed = [test for test in results["r02"]["tests"] if test["status"] == "failed"]
    assert {test["name"].partition(":")[0] for test in failed} == {"kv_table"}


def test_gradescope_runs_the_autograder_and_gets_the_right_persons_result(autograder_zip, tmp_path):
    with zipfile.ZipFile(autograder_zip) as archive:
        archive.extractall(tmp_path / "source")
        modes = {info.filename: info.external_attr >> 16 & 0o111 for info in archive.infolist()}
    assert modes["run_autograder"]
    assert modes["setup.sh"]
    (tmp_path / "results").mkdir()
    (tmp_path / "run_autograder").write_bytes((tmp_path / "source/run_autograder").read_bytes())

    def run(*emails):
        users = [{"email": email, "id": 1, "name": "../../etc"} for email in emails]
        (tmp_path / "submission_metadata.json").write_text(json.dumps({"users": users}))
        command = [sys.executable, str(tmp_path / "run_autograder")]
        return subprocess.run(command, capture_output=True, text=True)

    assert run("R02@x.edu ").returncode == 0
    assert json.loads((tmp_path / "results/results.json").read_text())["score"] == 21.25
    assert run("nobody@x.edu").returncode != 0
    assert "ask the course's staff" in run("r01@x.edu", "r02@x.edu").stderr


def test_a_table_has_everyone_with_sums_and_without_formulas(out, gradebook, tmp_path):
    path = tmp_path / "marks.csv"
    order = ExportOrder("csv", points={LAB: 25, OTHER: 30})
    export(out, order, path, read_roster(gradebook))
    rows = rows_of(path.read_bytes())
    assert rows[0][:8] == ["name", "student_id", "email", "section", f"{LAB} (25)",
                           f"{OTHER} (30)", "sum (55)", "remark"]  # fmt: skip
    assert len(rows) == 1 + len(NAMES)
    assert rows[1][4:7] == ["25", "30", "55"]
    assert rows[2][4:7] == ["21.25", "", ""]
    assert not any(cell.startswith(tuple("=+-@")) for row in rows for cell in row)


def test_the_roster_of_the_folder_names_people_but_is_never_written_back(gradebook, tmp_path):
    log = ResultLog(tmp_path / "results.jsonl")
    log.append(result_of("r03", written={}))
    log.close()
    (tmp_path / "roster.csv").write_bytes(gradebook.read_bytes())
    export(tmp_path, ExportOrder("csv"), tmp_path / "x.csv")
    names = {row[0]: row[4] for row in rows_of((tmp_path / "x.csv").read_bytes())}
    assert names["王小明"] == "10"
    with pytest.raises(ExportError, match="needs the gradebook that Canvas exports"):
        export(tmp_path, ExportOrder("canvas"), tmp_path / "x.csv")


def test_without_a_roster_everyone_who_handed_in_is_in_the_table(out, tmp_path):
    export(out, ExportOrder("csv"), tmp_path / "marks.csv")
    rows = rows_of((tmp_path / "marks.csv").read_bytes())
    assert [row[0] for row in rows[1:]] == sorted({result.student for result in GRADED})


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (ExportOrder("xml"), "there is no format 'xml'"),
        (ExportOrder("csv", labs=["05_batching"]), "no results of 05_batching; it has 01_memory"),
        (ExportOrder("canvas"), "needs the gradebook that Canvas exports"),
        (ExportOrder("moodle", labs=[LAB]), "needs the assignment's grading worksheet"),
        (ExportOrder("gradescope", labs=[LAB]), "needs a --roster with e-mail addresses"),
    ],
)
def test_what_cannot_be_exported_is_told_in_one_sentence(out, tmp_path, order, words):
    with pytest.raises(ExportError, match=words):
        export(out, order, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_points_of_labs_without_results_wait_so_one_command_serves_the_term(out, tmp_path):
    order = ExportOrder("csv", labs=[LAB], points={LAB: 20.0, "05_batching": 30.0})
    notes = export(out, order, tmp_path / "marks.csv")
    assert "No results yet: 05_batching. Their points wait." in notes
    assert "sum (20)" in rows_of((tmp_path / "marks.csv").read_bytes())[0]


def run(*arguments):
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_the_command_writes_the_file_and_says_what_is_not_in_it(out, gradebook, tmp_path):
    path = tmp_path / "x.csv"
    done = run(out, "--format", "canvas", "--roster", gradebook, "--labs", "01", "-o", path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "01_memory: nothing was handed in by Absent, Al." in done.stdout.splitlines()
    assert path.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--points", "01"), "--points needs LAB=VALUE, got 01"),
        (("--points", "01=many"), "--points needs a number above 0 for 01_memory, got many"),
        (("--points", "01=0"), "--points needs a number above 0 for 01_memory, got 0"),
        (("--points", "01=inf"), "--points needs a number above 0 for 01_memory, got inf"),
        (("--labs", "99"), "there is no lab '99'"),
        (("--roster", "nobody.csv"), "nobody.csv cannot be read"),
        (("--format", "pdf"), "there is no format 'pdf'"),
    ],
)
def test_a_wrong_export_command_is_one_sentence_and_status_2(out, tmp_path, arguments, words):
    done = run(out, "-o", tmp_path / "x.csv", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x.csv").exists()


def test_a_folder_as_the_file_to_write_is_named_in_one_sentence(out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for target in (tmp_path, "."):
        done = run(out, "-o", target)
        assert done.exit_code == 2
        assert done.stderr == f"autograder: {target} is a folder: give -o the file to write\n"
    assert not list(tmp_path.iterdir())
