"""Cells of papers that each student predicts, by functions of labs 6 and 7."""

import re

import pytest

from autograder.builder.source import find_lab
from autograder.labs.papers.key import keys
from autograder.labs.papers.numbers import moved_by_gpt2, off, reproduction
from autograder.proof.matrix import findings_for
from labkit.labs.papers.checks.marks import OF_PERCENT
from labkit.labs.papers.parameters import TABLES
from labkit.speculative import speedup

flash = pytest.importorskip("labkit.flash_attention", reason="a course without lab 7")
backward = pytest.importorskip("labkit.labs.flash_attention.backward")

LAB = find_lab("papers")
# arXiv:2211.17192, Tables 2 and 4: task, temperature, draft, gamma, alpha, c, theory, measured.
PRINTED = """\
WMT En-De  0  small  7  .75  .02  3.2  3.4
WMT En-De  0  base   7  .80  .04  3.3  2.8
WMT En-De  0  large  7  .82  .11  2.5  1.7
WMT En-De  1  small  7  .62  .02  2.3  2.6
WMT En-De  1  base   5  .68  .04  2.4  2.4
WMT En-De  1  large  3  .71  .11  2.0  1.4
CNN/DM     0  small  5  .65  .02  2.4  3.1
CNN/DM     0  base   5  .73  .04  2.6  3.0
CNN/DM     0  large  3  .74  .11  2.0  2.2
CNN/DM     1  small  5  .53  .02  1.9  2.3
CNN/DM     1  base   3  .55  .04  1.8  2.2
CNN/DM     1  large  3  .56  .11  1.6  1.7"""
ROWS = [re.split(" {2,}", line) for line in PRINTED.splitlines()]
(OWN,) = TABLES["q13"].values()
NAMES = next(iter(TABLES["q13"])).split()


def test_the_cells_are_those_of_the_paper_and_the_prediction_is_the_papers():
    """The paper prints one decimal, from an α and a c that it has rounded."""
    cells = {}
    for task, temperature, draft, *numbers in ROWS:
        gamma, alpha, cost, theory, measured = map(float, numbers)
        cells[task, int(temperature), draft, int(gamma), alpha, cost, measured] = theory
    assert set(OWN) < set(cells) and len(cells) == len(OWN) + 1
    for row, theory in cells.items():
        predicted = reproduction(**dict(zip(NAMES, row, strict=True)))["predicted"]
        assert predicted == pytest.approx(theory, abs=0.1)


def test_the_notebook_computes_the_row_that_no_student_gets():
    (cell,) = (cell for cell in LAB.cells if cell.name == "reproduction")
    names = {"speedup": speedup}
    exec(cell.text, names)
    (row,) = (row for row in ROWS if row[:3] == ["WMT En-De", "1", "base"])
    for number in (row[3], row[4].lstrip("."), row[5].lstrip("."), row[7]):
        assert number in cell.text
    assert "temperature 1, T5-base" in "\n".join(c.text for c in LAB.cells)
    assert (row[0], 1, "base") not in [own[:3] for own in OWN]


@pytest.mark.parametrize("row", OWN, ids=lambda row: " ".join(map(str, row[:3])))
def test_lab_6s_function_gives_the_right_numbers(row):
    given = dict(zip(NAMES, row, strict=True))
    predicted = speedup(given["alpha"], given["gamma"], given["cost"], 1, 1)
    assert off(predicted, given["measured"]) == pytest.approx(reproduction(**given))
    assert abs(reproduction(**given)["error_percent"]) > 10 * OF_PERCENT


(GPT2,) = TABLES["q08"].values()


@pytest.mark.parametrize(("tile_kv", "back_gb"), GPT2)
def test_lab_7s_functions_give_the_gigabytes_of_gpt_2(tile_kv, back_gb):
    """And the backward pass that the question states is the one that lab 7 counts."""
    moved = flash.flash_1_traffic(1024, 64, tile_kv)
    right = moved_by_gpt2(tile_kv, back_gb)
    assert right == pytest.approx(off(2 * 64 * 16 * sum(moved) / 1e9 + back_gb, 4.4))
    back = backward.flash_1_backward_traffic(1024, 64, tile_kv)
    assert 2 * 64 * 16 * sum(back) / 1e9 == pytest.approx(back_gb, abs=0.005)
    assert abs(right["error_percent"]) > 5 * OF_PERCENT
    assert [gb for tile, gb in GPT2] == sorted({gb for _, gb in GPT2}, reverse=True)


def test_the_notebook_predicts_the_cell_of_standard_attention(capsys):
    (cell,) = (cell for cell in LAB.cells if cell.name == "gpt2_reproduction")
    exec(cell.text, {"standard_traffic": flash.standard_traffic})
    assert capsys.readouterr().out == "predicted 25.2 GB, measured 40.3 GB: -37 %\n"
    back = backward.standard_backward_traffic(1024, 64)
    assert f"{2 * 64 * 16 * sum(back) / 1e9:.1f}" == "16.1" and "16.1" in cell.text


def marks(student_id, **numbers):
    """The findings of both fields."""
    right = keys()["q13"].numbers(student_id)
    source = f"q13_numbers = {right | numbers!r}"
    identity = f'student_id = {student_id!r}\nlanguage = "en"'
    found = findings_for(LAB, "q13_numbers", {"q13_numbers": source, "student_id": identity})
    return {finding.check: finding.passed for finding in found}


def test_a_prediction_in_three_digits_still_gives_the_right_percentage():
    for student_id in ("b1", "b2", "b5", "b9"):
        right = keys()["q13"].numbers(student_id)
        measured = right["predicted"] / (1 + right["error_percent"] / 100)
        rounded = off(float(f"{right['predicted']:.3g}"), measured)
        assert all(marks(student_id, **rounded).values())
        for error in (right["error_percent"] + 0.9, -right["error_percent"]):
            assert list(marks(student_id, error_percent=error).values()) == [True, False]
