"""What the wheel of a lab holds: all that its notebook and checks reach, and little more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from instances import each_lab_but_the_first, some_of

from autograder import imports
from autograder.builder import closure
from autograder.builder.closure import reached_modules
from autograder.builder.source import find_lab, read_labs
from autograder.builder.wheel import code_files, packages_needed, write_folder
from autograder.errors import Refusal
from autograder.imports import imported_modules, needed_modules
from autograder.labs import cases_of
from autograder.pages.cases import cell_of_finding
from autograder.record.results import GRADED, CheckResult, Result
from labkit.checks.core import HIDDEN, checks_of

LABS = read_labs()
MOST_LINES = {1: 8_900, 4: 11_250, 6: 19_980}
# Of release 0.1; not those of labs 1, 5 and 6, whose exercises are others now, nor that of lab 8,
# which asked with widgets.
OLD_SETUPS = json.loads(Path(__file__).with_name("setups_of_0_1.json").read_text("utf-8"))
READ_ONLY = {"labkit", "labkit.labs", "labkit.lazy"}


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_a_setup_cell_has_at_most_eight_lines(lab):
    (setup,) = [cell for cell in lab.cells if cell.name == "setup"]
    assert len([line for line in setup.text.splitlines() if line]) <= 8


@pytest.mark.parametrize("number", MOST_LINES)
def test_a_wheel_holds_few_lines(number):
    files = code_files(find_lab(f"{number:02d}"))
    code = [text for name, text in files.items() if name.endswith(".py")]
    assert sum(text.count(b"\n") for text in code) <= MOST_LINES[number]


def test_only_a_lab_that_checks_a_law_holds_what_stands_in_for_random_numbers():
    holds = {lab.name for lab in LABS if "labkit/chance/source.py" in code_files(lab)}
    assert holds == {"06_speculative"}


def test_kernels_for_the_newest_gpus_are_where_a_lab_runs_them():
    names = ("accept", "attention", "linear")
    held = {
        lab.number: [each for each in names if f"labkit/engine/triton_{each}.py" in code_files(lab)]
        for lab in LABS
    }
    held = {number: found for number, found in held.items() if found}
    assert held == {5: ["linear"], 7: ["attention"]}


def test_a_wheel_asks_pip_for_what_its_modules_import_alone():
    needed = [each.partition(">")[0] for each in packages_needed(code_files(find_lab("01")))]
    assert {"numpy", "torch"} <= set(needed)
    assert {"httpx", "jsonschema"} & set(needed) == set()


def test_a_module_that_is_missing_is_reported_with_the_chain_that_needs_it(monkeypatch):
    found = imports.file_of
    monkeypatch.setattr(
        closure, "file_of", lambda name: None if name == "labkit.measuring.lines" else found(name)
    )
    with pytest.raises(Refusal) as refused:
        reached_modules.__wrapped__(find_lab("01"))
    assert str(refused.value) == (
        "labkit.measuring.lines is missing: the notebook 01_memory imports "
        "labkit.measuring.tables, which imports labkit.measuring.lines"
    )


def test_a_hidden_case_may_not_need_a_module_that_the_wheel_does_not_hold(monkeypatch):
    found = closure.needed_by_file
    monkeypatch.setattr(
        closure,
        "needed_by_file",
        lambda path: ["labkit.cli"] if "cases" in path.parts else found(path),
    )
    with pytest.raises(Refusal, match=r"autograder/labs/memory/cases/\w+.py imports labkit.cli,"):
        reached_modules.__wrapped__(find_lab("01"))


@pytest.mark.parametrize("lab", each_lab_but_the_first())
def test_a_hidden_case_as_a_cell_finds_its_modules(lab):
    reached, needed = reached_modules(lab), {"labkit"}
    row = Result("ann", lab.name, GRADED, 0.0, 1.0, versions={"seed": "1"})
    for exercise, checks in checks_of(lab.topic).items():
        for case in range(len(cases_of(lab.topic, 1)[exercise])):
            found = CheckResult(
                exercise, checks[0].name, 0, 1, False, HIDDEN, status="failed", case=case
            )
            needed |= {*imported_modules(cell_of_finding(row, found))}
    assert ("labkit.checks.replay" in needed) == (lab.topic != "papers")  # it has no inputs
    assert [each for each in needed if each.startswith("autograder")] == []
    assert {each for each in needed if each.startswith("labkit")} <= reached.keys()


@pytest.mark.parametrize("name", OLD_SETUPS)
def test_the_setup_cell_of_an_older_notebook_finds_its_modules(name):
    """The grader runs it as the student's own cell, after the one of today."""
    needed = {each for each in imported_modules(OLD_SETUPS[name]) if each.startswith("labkit")}
    assert needed <= reached_modules(find_lab(name)).keys()


@pytest.mark.parametrize("name", some_of(OLD_SETUPS, *list(OLD_SETUPS)[:3]))
def test_the_setup_cell_of_an_older_notebook_runs_on_the_wheel_of_today(name, tmp_path):
    write_folder(find_lab(name), tmp_path)
    start = "import labkit, os\nassert labkit.__file__.startswith(os.getcwd())\n"
    command = [sys.executable, "-W", "error", "-c", start + OLD_SETUPS[name]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


NEEDED = {
    "import os.path, labkit.nothing": ["os.path", "labkit.nothing"],
    "from labkit.bridge import wire, nothing": ["labkit.bridge.wire", "labkit.bridge"],
    "from labkit.kit import Table": ["labkit.measuring.tables"],
    "from labkit import kit\nkit.Table": ["labkit.kit", "labkit.measuring.tables"],
    "from labkit import kit\nkit.zoo.load": ["labkit.kit", "labkit.zoo"],
    "import labkit\nlabkit.models.facts.gpus()": ["labkit", "labkit.models.facts", "labkit.models"],
    "from labkit.labs import kv_cache as lab\nlab.store_player": [
        "labkit.labs.kv_cache", "labkit.labs.kv_cache.widget"
    ],
    "import_module('labkit.cli')": ["labkit.cli"],
    "import_module(f'labkit.engine.{name}'), 'operations'": ["labkit.engine.operations"],
    "if TYPE_CHECKING:\n    import labkit.cli": [],
    "import (": [],
}  # fmt: skip


@pytest.mark.parametrize("source", NEEDED)
def test_the_modules_that_code_needs_are_read_off_it(source):
    assert needed_modules(source) == NEEDED[source]


def test_imported_modules_are_those_that_exist():
    assert imported_modules("import json, nothing, labkit.nothing") == ["json"]


def test_a_module_is_imported_by_a_name_that_can_be_read_with_few_exceptions():
    """Else the wheel could lack a module that is imported by a computed name."""
    computed = set()
    for name in set().union(*map(reached_modules, LABS)):
        code = imports.file_of(name).read_text(encoding="utf-8")
        calls = code.count("import_module(") - code.count('import_module("')
        if calls - code.count('import_module(f"labkit.') > 0:
            computed.add(name)
    assert computed <= READ_ONLY | {"labkit.checks.core"}
