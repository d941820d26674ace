"""Each attempt has hidden cases of its own: what a page said of one is no answer to the next."""

import json
from dataclasses import replace

import pytest
from classroom import solved
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.grading.grade import GradingSettings, grade
from autograder.intake.collect import Submission
from autograder.judging.jobs import seed_of_cases
from autograder.labs import cases_of
from autograder.pages.cases import case_cells
from autograder.pages.feedback import write_feedback
from autograder.record.log import read_results

LAB, EXERCISE, SEED = "01_memory", "largest_model", 7
MEMORY = find_lab(LAB)
RUN = GradingSettings(seed=SEED)
WRONG = """
def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    return 2 * vram_bytes + overhead_bytes + bytes_per_param
"""
BY_HEART = """
SEEN = {seen}

def largest_model(*args):
    if SEEN.get(args) == "refused":
        raise ValueError
    return SEEN.get(args)
"""
pytestmark = pytest.mark.usefixtures("warm_slots")


def hand_in(folder, student, answer, attempt=1):
    path = folder / student / f"attempt_{attempt}" / LAB / f"{LAB}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(solved(LAB, **{EXERCISE: answer})))


def graded(folder, out, run=RUN):
    return {row.student: row for row in grade(MEMORY, folder, out, run)}


def found(row):
    return [each for each in row.checks if each.exercise == EXERCISE]


def by_heart(row):
    """An answer that knows the result of each hidden case that a submission was judged on."""
    rows = [each for case in cases_of("memory", row.seed)[EXERCISE] for each in (case, *case.among)]
    seen = {each.call.args: "refused" if each.is_refused else each.result for each in rows}
    return BY_HEART.format(seen=seen)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A class whose first attempts are graded: its submissions, its folder, its rows."""
    folder, out = tmp_path_factory.mktemp("in"), tmp_path_factory.mktemp("one") / "out"
    hand_in(folder, "ann", WRONG)
    hand_in(folder, "bob", WRONG)
    hand_in(folder, "cy", f"{WRONG}# my own\n")
    return folder, out, graded(folder, out)


def test_what_was_seen_of_an_attempt_earns_no_more_in_the_next_one(one, tmp_path):
    _, _, rows = one
    hand_in(tmp_path / "in", "ann", WRONG)
    hand_in(tmp_path / "in", "ann", by_heart(rows["ann"]), attempt=2)
    policy = tmp_path / "policy.toml"
    policy.write_text('attempts = "last"\n')
    ann = graded(tmp_path / "in", tmp_path / "out", replace(RUN, policy=policy))["ann"]
    assert ann.attempt == 2
    assert not any(each.passed for each in found(ann))
    assert ann.score == rows["ann"].score


def test_the_same_notebook_has_the_same_cases_and_another_one_has_others(one):
    ann, bob, cy = (one[2][name] for name in ("ann", "bob", "cy"))
    assert ann.seed == bob.seed != cy.seed
    assert ann.checks == bob.checks
    assert ann.score == cy.score
    calls, others = (
        {case.call.args for case in cases_of("memory", row.seed)[EXERCISE]} for row in (ann, cy)
    )
    assert not calls & others
    assert found(ann)[0].expected != found(cy)[0].expected


def test_graded_again_an_unchanged_notebook_has_the_same_cases(one, tmp_path):
    folder, out, rows = one
    assert graded(folder, out) == rows  # nothing was due
    again = graded(folder, tmp_path / "out")
    for name, row in rows.items():
        assert again[name].without_measurements() == row.without_measurements()
    other = graded(folder, tmp_path / "other", replace(RUN, seed=SEED + 1))
    assert not {row.seed for row in other.values()} & {row.seed for row in rows.values()}
    assert {name: row.score for name, row in other.items()} == {
        name: row.score for name, row in rows.items()
    }


@pytest.mark.parametrize("student", ["ann", "cy"])
def test_case_and_page_show_the_cases_that_this_attempt_was_judged_on(
    one, tmp_path, student, capsys
):
    _, out, rows = one
    printed = CliRunner().invoke(app, ["case", str(out), LAB, EXERCISE, "--student", student])
    page = write_feedback(tmp_path, rows[student], with_cases=True).read_text()
    names = {"__name__": "notebook"}
    exec(WRONG, names)
    for shown in (printed.stdout, *case_cells([rows[student]], EXERCISE)):
        exec(shown, names)
    said = capsys.readouterr().out
    for each in found(rows[student]):
        assert said.count(f"expected {each.expected}, got {each.got}") >= 2
        case = cases_of("memory", rows[student].seed)[EXERCISE][each.case]
        assert repr(case.call.args[0]) in page


def test_no_page_of_students_has_a_seed(one):
    _, out, rows = one
    pages = [path.read_text() for path in (out / "feedback").rglob("*.html")]
    pages += [path.read_text() for path in (out / "course" / "autograded").rglob("*.ipynb")]
    assert len(pages) >= 2 * len(rows)
    assert not [page for page in pages for row in rows.values() if row.seed in page]


def test_only_content_and_the_folders_seed_decide():
    first = Submission("ann", "a.ipynb", b"1", extra={"a.py": b"x"})
    same = replace(first, student="bob", file_name="b.ipynb", attempt=2, own_ids=("i",), group="g")
    seeds = [
        seed_of_cases(seed, each)
        for seed, each in (
            (SEED, first),
            (SEED + 1, first),
            (SEED, replace(first, content=b"2")),
            (SEED, replace(first, extra={"a.py": b"y"})),
            (SEED, replace(first, extra={"b.py": b"x"})),
            (SEED, replace(first, extra={})),
        )
    ]
    assert seed_of_cases(SEED, same) == seeds[0]
    assert len({*seeds}) == len(seeds)


def test_a_row_of_an_earlier_version_names_the_cases_of_its_folders_seed(one, tmp_path):
    """It was judged with the folder's seed alone, whatever another lab was graded with since."""
    row = replace(one[2]["ann"], versions={"labkit": "0.2.1", "seed": str(SEED)})
    (tmp_path / "results.jsonl").write_text(row.to_json() + "\n")
    (tmp_path / "seed").write_text("9\n")
    [row] = read_results(tmp_path / "results.jsonl")
    printed = CliRunner().invoke(app, ["case", str(tmp_path), LAB, EXERCISE, "--student", "ann"])
    for each in found(row):
        case = cases_of("memory", SEED)[EXERCISE][each.case]
        assert repr(case.call.args[0]) in printed.stdout
