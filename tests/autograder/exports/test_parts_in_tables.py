"""Tables for people have the points of each part of a lab, in the order of the notebook."""

import csv
import io
import zipfile
from dataclasses import replace

from recorded import LAB, by_hand, record, result_of

from autograder.course.roster import read_roster
from autograder.exports import ExportOrder, export
from autograder.record.marks import marks_of, points_by_part
from labkit.checks.outline import outline_of

LONG = "李" * 80
ROSTER = f"name,student_id,email\nAnn,r01,a@x.edu\n{LONG},r02,b@x.edu\nעדי,r03,c@x.edu\n"


def rows_of(content):
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def exported(out, form, path):
    (out / "list.csv").write_text(ROSTER, encoding="utf-8")
    export(out, ExportOrder(form, points={LAB: 25}), path, read_roster(out / "list.csv"))
    return path


def test_tables_have_the_points_of_each_part_as_a_person_left_them(tmp_path):
    rows = [
        result_of("r01", fails=("kv_table",)),
        result_of("r02", late="Late.", late_factor=0.5),
        replace(result_of("r03"), written={}),
    ]
    first = rows[2].checks[0]
    rows[2].checks[0] = replace(first, status="undecided", passed=False, points=0.0)
    record(tmp_path, rows)
    for student in ("r01", "r02"):
        for name in ("growth", "training_or_generation"):
            by_hand(tmp_path, student, name, 0.75, comment="No units.")
    by_hand(tmp_path, "r02", "check_kv_table", 0.5)
    table = rows_of(exported(tmp_path, "csv", tmp_path / "t.csv").read_bytes())
    with zipfile.ZipFile(exported(tmp_path, "gradescope", tmp_path / "g.zip")) as packed:
        inside = rows_of(packed.read("marks.csv"))
    names = [part.name for part in outline_of("memory")]
    heads = table[0][7:]
    assert [head.split()[1] for head in heads] == names
    assert [head.split()[0] for head in inside[0][5:]] == names
    assert f"{LAB}: growth (1)" in heads
    ann, li, adi = (dict(zip(names, row[7:], strict=True)) for row in table[1:])
    assert (ann["kv_table"], ann["growth"], ann["n_params"]) == ("0", "0.75", "1")
    assert li["kv_table"] == "0.5"
    assert {*adi.values()} == {""}  # an export has complete marks only
    assert [row[5:] for row in inside[1:]] == [row[7:] for row in table[1:3]]
    assert points_by_part(rows[2], marks_of(tmp_path)[2])[first.exercise] is None
