"""Kernels in Triton are judged behind the wall, in the interpreter that the zygote has imported."""

from dataclasses import replace

import pytest

from autograder.builder.source import find_lab, solved_text
from autograder.intake.steps import Step
from autograder.judging.client import ZygoteHandle
from autograder.judging.jobs import Limits
from autograder.judging.playing import Play, Playing
from autograder.judging.session import Session
from autograder.judging.wall import ChildSettings, strongest_rung
from autograder.labs import cases_of
from labkit.bridge import in_triton
from labkit.checks.core import checks_of
from labkit.checks.unjudged import ENDLESS, EXITS

pytest.importorskip("labkit.flash_attention", reason="a course without lab 7")
SETUP = "import torch\nfrom labkit.bridge.in_triton import tl"
MODULES = ("numpy", "torch", "labkit.bridge.in_triton")
MOST_S = 3.0
LIMITS = Limits(cell_s=5, check_s=3)
LAB = find_lab("flash_attention")
RIGHT = next(solved_text(cell) for cell in LAB.exercises if cell.name == "flash_kernel")
HEAD = "def flash_kernel(q, k, v, o, n_rows, scale, IS_CAUSAL, HEAD_DIM, TILE_Q, TILE_KV):\n    "


@pytest.fixture(scope="module")
def zygote(packages):
    settings = ChildSettings(
        student_path=packages, read_only=(packages,), preload=MODULES, rung=strongest_rung()
    )
    with ZygoteHandle(settings) as zygote:
        yield zygote


@pytest.fixture
def findings(zygote):
    """Plays the checks of `flash_kernel`; gives the findings, and the student's time."""
    sessions = []

    def play(source, limits=LIMITS):
        steps = [Step(SETUP, 0), Step(source, 1)]
        sessions.append(session := Session(zygote, steps, {}, limits))
        session.run()
        before_s = session.spent_s
        cases = cases_of("flash_attention", 5)["flash_kernel"]
        plays = [Play(check, cases) for check in checks_of("flash_attention")["flash_kernel"]]
        found = Playing(session, broken := []).play_all(plays)
        assert broken == []
        return found, session.spent_s - before_s

    yield play
    for session in sessions:
        session.close()


def test_the_reference_passes_in_time(findings):
    found, spent_s = findings(RIGHT)
    assert {each.status for each in found} == {"passed"}, [each.message for each in found]
    assert spent_s < MOST_S


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        pytest.param("while True: pass", ENDLESS, marks=pytest.mark.slow),
        ("import os; os._exit(0)", EXITS),
        ("open('/etc/shadow').read()", "the code raises"),
        ("open('/tmp/x' * 9, 'w')", "the code raises"),
        ("import subprocess; subprocess.run('reboot')", "the code raises"),
    ],
)
def test_a_hostile_kernel_is_treated_as_any_hostile_answer(findings, body, cause):
    found, _ = findings(HEAD + body, replace(LIMITS, check_s=1))
    assert not any(each.passed for each in found)
    assert found[0].cause.startswith(cause)


def test_a_kernel_that_rebinds_the_library_of_the_notebook_has_to_compute_all_the_same(findings):
    found, _ = findings("tl = None\nrun_kernel = print\n" + RIGHT.replace("+ tl.sum", "- tl.sum"))
    assert not any(each.passed for each in found)


def test_a_grader_without_triton_says_so_and_marks_nothing_wrong(findings, monkeypatch):
    monkeypatch.setattr(in_triton, "version", lambda name: "3.1.0")
    in_triton.why_not.cache_clear()
    found, _ = findings(RIGHT)
    in_triton.why_not.cache_clear()
    assert {each.status for each in found} == {"undecided"}
    message = "the grader cannot run kernels: Triton 3.1.0 is too old: this needs 3.2 or newer."
    assert found[0].message == f"This check is not decided: {message}"
