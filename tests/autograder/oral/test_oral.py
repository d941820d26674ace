"""`autograder oral`: the pages of a class, what was said, refusals in one sentence."""

import csv
import html
import json
from types import SimpleNamespace

import pytest
from classroom import blank, hand_in, solved
from oral_keys import HALF, LAB
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.intake.read import Unreadable
from autograder.judging.asking import search
from autograder.judging.asking.sheet import BLANK, KINDS, LINE, Sheet
from autograder.oral.write import NOTHING, orders_of
from autograder.record.results import CheckResult
from labkit.checks.core import checks_of


def test_a_sheet_is_the_same_after_its_way_through_the_slot():
    from autograder.judging.asking.sheet import Question

    sheet = Sheet((Question("f", LINE, 3, "Which?", ("a", "b"), 1, "x", "y"),), (("f", "x"),), 0.5)
    assert Sheet.from_fields(json.loads(json.dumps(sheet.as_fields()))) == sheet
    assert sheet.questions[0].letter == "B"
    for wrong in ({"questions": 3}, {"other": 1}, {"questions": [{"kind": 1}]}):
        with pytest.raises(ValueError, match="not a sheet"):
            Sheet.from_fields(wrong)


def checked(green):
    """Check results of a lab in which these exercises pass."""
    return [
        CheckResult(name, each.name, 0.0, 1.0, name in green, "", each.claim, each.hint,
                    "passed" if name in green else "todo")
        for name, checks in checks_of("memory").items()
        for each in checks
    ]  # fmt: skip


@pytest.fixture
def out(tmp_path):
    names = tuple(cell.name for cell in find_lab(LAB).exercises)
    rows = [
        hand_in(tmp_path, "ann", solved(LAB), LAB, checks=checked(names)),
        hand_in(tmp_path, "cara", blank(LAB), LAB, checks=checked(())),
        hand_in(tmp_path, "eve<b>", solved(LAB, largest_model=HALF), LAB,
                checks=checked(("largest_model",))),
    ]  # fmt: skip
    text = "".join(f"{each.to_json()}\n" for each in rows)
    (tmp_path / "results.jsonl").write_text(text)
    (tmp_path / "seed").write_text("7\n")
    return tmp_path


def oral(*arguments):
    return CliRunner().invoke(app, ["oral", *map(str, arguments)])


def test_the_pages_of_a_class_and_what_was_said(out):
    said = oral(out, "01", "--jobs", "1")
    folder = out / "oral" / LAB
    assert said.exit_code == 0 and said.output.strip() == str(folder / "index.html"), said.output
    sheet, key = ((folder / place / "ann.html").read_text() for place in ("sheets", "keys"))
    assert "← the key" in key and "Two minutes for the TA" in key
    assert "def n_params" in key and "def n_params" not in sheet  # who wrote it knows it
    assert "the key" not in sheet and "Its check says" not in sheet and 'class="total"' not in sheet
    cara = html.unescape((folder / "sheets" / "cara.html").read_text())
    assert NOTHING in cara and checks_of("memory")["n_params"][0].claim.split("`")[0] in cara
    assert "eve&lt;b&gt;" in (folder / "index.html").read_text()
    table = folder / "answers.csv"
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["student"] for row in rows} == {"ann", "cara", "eve<b>"}
    assert {row["kind"] for row in rows if row["student"] == "cara"} == {BLANK}
    assert {row["kind"] for row in rows} <= set(KINDS)
    first = next(row for row in rows if row["student"] == "ann")
    first["said"] = "a" if first["key"] != "A" else "b"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, first)
        writer.writeheader()
        writer.writerows(rows)
    assert oral(out, "01", "--jobs", "1").exit_code == 0
    assert next(csv.DictReader(table.read_text().splitlines()))["said"] == first["said"]
    index = (folder / "index.html").read_text()
    assert 'data-label="missed">1<' in index
    forgotten = CliRunner().invoke(app, ["forget", str(out), "ann"])
    assert forgotten.exit_code == 0 and not list(folder.rglob("ann.html"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["01", "02"], "a sheet is about one lab, and these are 2"),
        (["03"], "holds no results of 03_cache_benchmark: grade it first"),
        (["nothing"], "nothing"),
    ],
)
def test_a_wrong_order_is_refused_in_one_sentence(out, arguments, told):
    said = oral(out, *arguments)
    assert said.exit_code == 2 and told in said.output
    assert said.output.count("\n") == 1


def test_a_missing_folder_and_one_without_notebooks_are_refused(out, tmp_path):
    said = oral(tmp_path / "nowhere", "01")
    assert said.exit_code == 2 and "grade it first" in said.output
    assert not (tmp_path / "nowhere").exists()
    for path in out.glob("course/submitted/*/*/*.ipynb"):
        path.unlink()
    said = oral(out, "01")
    assert (
        said.exit_code == 2 and "keeps no notebook of 01_memory: grade it once more" in said.output
    )
    assert said.output.count("\n") == 1 and not (out / "oral").exists()


def test_a_table_with_other_columns_is_refused_and_stays(out):
    table = out / "oral" / LAB / "answers.csv"
    table.parent.mkdir(parents=True)
    table.write_text("student,said\nann,B\n")
    said = oral(out, "01", "--jobs", "1")
    assert said.exit_code == 2 and "needs the columns" in said.output
    assert table.read_text() == "student,said\nann,B\n"


def test_what_passed_is_asked_about_with_the_hidden_cases_that_it_passed(tmp_path):
    rows = [
        hand_in(tmp_path, name, solved(LAB), LAB, versions={"seed": f"cases of {name}"})
        for name in ("ann", "bob")
    ]

    def rehearse(submission, seed):
        raise Unreadable(f"{submission.student} has the {seed}")

    judge = SimpleNamespace(rehearse=rehearse)
    for name, order in orders_of(tmp_path, find_lab(LAB), rows, "7").items():
        assert order.packed()["oral"]["cases"] == f"cases of {name}"
        assert f"{name} has the cases of {name}" in search.sheet_of(judge, order).problem
