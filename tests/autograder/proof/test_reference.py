"""A lab whose own solution loses a point is refused, and the cell or the check is named."""

from dataclasses import replace

import pytest
from instances import lab_instances

from autograder.builder.source import SourceCell, find_lab, module_source
from autograder.errors import Refusal
from autograder.proof import complete, reference

LAB = find_lab("01_memory")


def changed(name, edit):
    """Lab 1 with the text of one cell edited."""
    cells = [
        replace(cell, text=edit(cell.text)) if cell.name == name else cell for cell in LAB.cells
    ]
    return replace(LAB, cells=tuple(cells))


@pytest.mark.parametrize("lab", lab_instances())
def test_the_solution_of_each_lab_earns_every_point(lab):
    assert list(reference.lost_points(lab)) == []


def test_an_import_that_a_given_cell_lacks_names_the_cell_that_stops():
    (said,) = reference.lost_points(changed("setup", lambda text: "from labkit import *"))
    assert said.startswith("01_memory: the cell ") and "NameError" in said


def test_a_wrong_model_answer_names_exercise_check_and_case():
    answer = next(cell.name for cell in LAB.marked if cell.kind == "answer")
    said = list(reference.lost_points(changed(answer, lambda text: f"{text}\n{answer} = 7")))
    assert said and all(f"the reference answer to {answer} fails the check" in one for one in said)
    assert {"a hidden case" in one for one in said} == {True, False}


def test_a_lab_that_loses_points_is_refused_and_one_that_holds_is_played_once(
    tmp_path, monkeypatch
):
    played = []
    monkeypatch.setattr(reference, "HOLDS", tmp_path)
    monkeypatch.setattr(reference, "lost_points", lambda lab, seed: played.append(lab) or [])
    for _ in range(2):
        reference.refuse_lost_points(LAB)
    assert len(played) == 1
    other = changed("setup", lambda text: f"{text}\n")
    monkeypatch.setattr(reference, "lost_points", lambda lab, seed: ["a sentence"])
    for _ in range(2):
        with pytest.raises(Refusal, match="loses points:\na sentence"):
            reference.refuse_lost_points(replace(other, name="04_kv_cache"))


def test_a_cell_of_the_notebook_that_stops_is_named():
    setup = next(cell for cell in LAB.cells if cell.name == "setup")
    lab = replace(LAB, cells=(setup, SourceCell("experiment", "sweep", "assert 1 > 2, 'too far'")))
    assert list(reference.stopped_cell(lab)) == [
        "01_memory: the cell sweep of the solved notebook: AssertionError: too far"
    ]


def test_a_helper_beside_the_answers_is_named(monkeypatch):
    def with_helper(module):
        return module_source(module) + "\n\ndef _packed(tokens):\n    return tokens\n"

    monkeypatch.setattr(complete, "module_source", with_helper)
    (said,) = complete.missing_parts(LAB)
    assert said.startswith("_packed in labkit.memory stands beside the answers")
