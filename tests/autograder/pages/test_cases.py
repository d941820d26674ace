"""Hidden cases as notebook cells: whole, exact, and for whoever failed there."""

from dataclasses import replace

import pytest
from classroom import result
from instances import each_lab_but_the_first

from autograder.cli import app
from autograder.labs import cases_of
from autograder.pages.cases import NoCaseError, case_cells, source_of
from autograder.pages.feedback import write_feedback
from autograder.record.results import CheckResult
from labkit import memory
from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, play_check

SEED, LAB, EXERCISE = 3, "01_memory", "largest_model"
NAMES = [check.name for check in checks_of("memory")[EXERCISE]]


def wrong_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    return 8 * vram_bytes * bytes_per_param + overhead_bytes


def row(student, answer, exercise=EXERCISE, seed=SEED):
    """The result of one exercise, played on the hidden cases of a seed."""
    found = [
        play_check(check, local_student({exercise: answer}), cases_of("memory", seed)[exercise],
                   hidden=True)
        for check in checks_of("memory")[exercise]
    ]  # fmt: skip
    checks = [
        CheckResult(exercise, each.check.name, float(each.passed), 1.0, each.passed, each.message,
                    status=each.status, expected=each.expected, got=each.got, case=each.case)
        for each in found
    ]  # fmt: skip
    return replace(result(student, lab=LAB), checks=checks, versions={"seed": str(seed)})


def play(cell, **names):
    names = {"__name__": "notebook", **names}
    exec(cell, names)
    return names["calls"]


@pytest.mark.parametrize("lab", each_lab_but_the_first())
def test_every_hidden_input_can_be_written_down_and_read_back(lab):
    n_pickled = 0
    for cases in cases_of(lab.topic, SEED).values():
        for case in cases:
            if getattr(case, "is_own", False):
                continue
            imports = set()
            text = source_of(case, imports)
            names = {}
            for module in imports:
                exec(f"import {module}", names)
            again = eval(text, names)
            assert str(again) == str(case)
            assert source_of(again, set()) == text or "pickle" in imports
            n_pickled += "pickle" in imports
    assert n_pickled < 60


def test_a_pasted_cell_fails_where_the_student_failed_and_passes_for_a_right_answer(capsys):
    rows = [row("ann", wrong_model), row("bob", memory.largest_model)]
    cells = case_cells(rows, EXERCISE, student="ann")
    assert len(cells) == len(NAMES)
    for cell in cells:
        calls = play(cell, largest_model=wrong_model)
        assert "failed:" in capsys.readouterr().out
        assert calls[0].result == wrong_model(*calls[0].args)
        play(cell, largest_model=memory.largest_model)
        assert "passed:" in capsys.readouterr().out


def test_a_cell_says_what_was_expected_what_came_and_how_many_fail():
    rows = [row("ann", wrong_model), row("cy", wrong_model)]
    [cell] = case_cells(rows, EXERCISE, NAMES[0])
    comment = " ".join(line.removeprefix("# ") for line in cell.splitlines() if line[:2] == "# ")
    found = rows[0].checks[0]
    assert "2 students fail at this case, each with values of their own." in comment
    assert f"expected {found.expected}, got {found.got}" in comment
    assert str(cases_of("memory", SEED)[EXERCISE][found.case]) in comment


def test_without_a_failure_the_first_case_of_the_check_is_shown():
    [cell] = case_cells([row("bob", memory.largest_model)], EXERCISE, NAMES[1])
    assert f'replay("memory", "{NAMES[1]}"' in cell


def test_an_answer_of_the_students_own_hides_nothing():
    [cell, *_] = case_cells([row("ann", {}, "kv_table")], "kv_table")
    assert "No input is hidden." in cell
    assert "replay" not in cell


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("largest_models",), "01_memory has no exercise 'largest_models'; there are"),
        ((EXERCISE, "x"), "largest_model has no check 'x'; there are"),
        ((EXERCISE, "", "cy"), "there is no result of 'cy'"),
        ((EXERCISE, "", "bob"), "^bob fails no check of largest_model$"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(asked, told):
    with pytest.raises(NoCaseError, match=told):
        case_cells([row("bob", memory.largest_model)], *asked)


def test_whose_case_cannot_be_shown_is_told_why_and_where_there_are_cases():
    wrong = row("carol", wrong_model)
    kinds = {"kv_table": "todo", "scaling": "passed"}
    others = [
        CheckResult(name, "c", 0.0, 1.0, status == "passed", "", status=status)
        for name, status in kinds.items()
    ]
    carol = replace(wrong, checks=[*others, *wrong.checks])
    for asked, told in {
        ("kv_table", "", "carol"): "carol has not written kv_table",
        ("scaling", "", "carol"): "carol fails no check of scaling",
        ("training", "", "carol"): "the checks of training did not run on the file of carol",
    }.items():
        with pytest.raises(NoCaseError, match=f"^{told}; failed checks are in largest_model$"):
            case_cells([carol], *asked)


def test_feedback_shows_the_case_only_after_the_last_attempt(tmp_path):
    ann = row("ann", wrong_model)
    page = write_feedback(tmp_path, ann, with_cases=True).read_text()
    assert page.count("def hidden_case():") == len(NAMES)
    assert "hidden_case" not in write_feedback(tmp_path, ann).read_text()


def test_a_failure_without_a_case_has_no_cell(tmp_path):
    checks = [replace(each, case=-1) for each in row("ann", wrong_model).checks]
    page = write_feedback(tmp_path, result("ann", lab=LAB, checks=checks), with_cases=True)
    assert "hidden_case" not in page.read_text()


def test_the_command_prints_the_cells(tmp_path):
    from typer.testing import CliRunner

    ann = row("ann", wrong_model)
    (tmp_path / "results.jsonl").write_text(ann.to_json() + "\n")
    arguments = ["case", str(tmp_path), "01", EXERCISE, "--student", "ann"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert shown.stdout.count("def hidden_case():") == len(NAMES)
    refused = CliRunner().invoke(app, ["case", str(tmp_path), "01", "largest_models"])
    assert refused.exit_code == 2
