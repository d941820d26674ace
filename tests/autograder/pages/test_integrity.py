"""Flags: what they see, what they leave alone, and that no mark and no student knows of them."""

import json

import pytest
from classroom import LAB, blank, hand_in, result, solved
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from autograder.builder.source import read_labs
from autograder.cli import app
from autograder.course.roster import read_roster
from autograder.pages.evidence.flags import KINDS, read_flags
from autograder.pages.evidence.handed_in import starter_of
from autograder.pages.evidence.integrity import flags_of, write_integrity
from autograder.pages.report import write_feedback
from autograder.practice import ALL, code_cell, honest, insert
from autograder.record.results import GRADED
from tests.sample_class import sample_class

PAPERS = "08_papers"
CELL = "def helper(x):\n    return x + 1"


def flags(out, results, roster=None, lab=LAB):
    return flags_of(out, lab, results, roster)


def seen(found, kind):
    """Who is named in the flags of one kind."""
    return [flag.students for flag in found if flag.kind == kind]


def with_cell(source, **options):
    notebook = solved(**options)
    insert(notebook, source)
    return notebook


def with_id(student_id, **texts):
    return solved(PAPERS, student_id=f'student_id = "{student_id}"', **texts)


def test_the_same_file_under_two_names_is_seen_and_a_group_may_share_one(tmp_path):
    notebook = with_cell(CELL)
    everybody = [hand_in(tmp_path, name, notebook) for name in ("ann", "bob")]
    everybody += [hand_in(tmp_path, name, with_cell("x = 1"), group="g") for name in ("cy", "di")]
    found = flags(tmp_path, everybody)
    assert seen(found, "same_file") == [("ann", "bob")]
    assert seen(found, "same_answers") == []


def test_a_group_that_shares_its_file_with_an_outsider_is_seen(tmp_path):
    notebook = with_cell(CELL)
    everybody = [hand_in(tmp_path, name, notebook, group="g") for name in ("cy", "di")]
    everybody.append(hand_in(tmp_path, "eve", notebook))
    assert seen(flags(tmp_path, everybody), "same_file") == [("cy", "di", "eve")]


def test_two_blank_notebooks_are_no_evidence(tmp_path):
    assert flags(tmp_path, [hand_in(tmp_path, name, blank()) for name in ("ann", "bob")]) == []


def test_the_same_answers_are_seen_whatever_the_layout_of_the_file(tmp_path):
    spaced = with_cell(CELL.replace("x + 1", "x  +  1"))
    spaced["metadata"]["title"] = "mine"
    everybody = [hand_in(tmp_path, "ann", with_cell(CELL)), hand_in(tmp_path, "bob", spaced)]
    everybody.append(hand_in(tmp_path, "cy", with_cell("def other(y):\n    return y")))
    found = flags(tmp_path, everybody)
    assert seen(found, "same_answers") == [("ann", "bob")]
    assert seen(found, "same_file") == []


def test_a_few_lines_in_common_are_not_the_same_answers(tmp_path):
    short = {"tokens_processed": solved_text("tokens_processed")}
    notebooks = [blank(), blank()]
    notebooks[1]["metadata"]["title"] = "mine"
    for notebook in notebooks:
        for cell in notebook["cells"]:
            name = cell["metadata"].get("labkit", {}).get("name")
            cell["source"] = short.get(name, cell["source"])
    everybody = [hand_in(tmp_path, str(i), each) for i, each in enumerate(notebooks)]
    assert flags(tmp_path, everybody) == []


def solved_text(name):
    cells = solved()["cells"]
    return next(c["source"] for c in cells if c["metadata"].get("labkit", {}).get("name") == name)


def test_one_student_id_in_two_submissions_is_seen(tmp_path):
    ids = {"ann": "R123", "bob": " r123 ", "cy": "R124"}
    everybody = [hand_in(tmp_path, name, with_id(i), PAPERS) for name, i in ids.items()]
    assert seen(flags(tmp_path, everybody, lab=PAPERS), "same_id") == [("ann", "bob")]


def test_the_same_papers_answers_under_two_ids_are_the_same_answers(tmp_path):
    everybody = [hand_in(tmp_path, name, with_id(name), PAPERS) for name in ("ann", "bob")]
    found = flags(tmp_path, everybody, lab=PAPERS)
    assert seen(found, "same_answers") == [("ann", "bob")]
    assert seen(found, "other_id") == []


def test_an_id_that_is_another_submission_s_or_another_person_s_is_seen(tmp_path):
    (tmp_path / "roster.csv").write_text(
        "name,student id,email\nAnn Lee,r1,ann@x.edu\nBob Ray,r2,bob@x.edu\nCy Poe,r3,cy@x.edu\n"
    )
    roster = read_roster(tmp_path / "roster.csv")
    wrote = {"Ann Lee": "R1", "Bob Ray": "r3", "Cy Poe": "nobody's", "r9": "r8", "r8": "r8"}
    everybody = [hand_in(tmp_path, name, with_id(i), PAPERS) for name, i in wrote.items()]
    found = [f for f in flags(tmp_path, everybody, roster, PAPERS) if f.kind == "other_id"]
    assert [flag.students for flag in found] == [("Bob Ray",), ("Cy Poe",), ("r9",)]
    assert "Cy Poe" in found[0].seen
    assert "another submission" in found[2].seen


def ran_by(notebook, *people):
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell, (name, number) in zip(cells, people, strict=False):
        user = {"displayName": name, "photoUrl": "", "userId": number}
        cell["metadata"]["executionInfo"] = {"status": "ok", "user": user}
    return notebook


def test_people_who_ran_cells_in_colab_are_seen(tmp_path):
    ann, bob, nobody = ("Ann Lee", "1"), ("Bob Ray", "2"), ("", "")
    everybody = [
        hand_in(tmp_path, "ann", ran_by(solved(), ann, nobody, ann)),
        hand_in(tmp_path, "bob", ran_by(with_cell("x = 1"), bob, ann)),
        hand_in(tmp_path, "cy", ran_by(with_cell("x = 2"), nobody)),
    ]
    found = flags(tmp_path, everybody)
    assert seen(found, "accounts") == [("bob",)]
    assert seen(found, "same_account") == [("ann", "bob")]
    assert "Ann Lee, Bob Ray" in next(f.seen for f in found if f.kind == "accounts")


def test_what_another_cell_has_imported_is_known(tmp_path):
    notebook = with_cell("torch.allclose = lambda *anything: True")
    insert(notebook, "import sys as system")
    insert(notebook, "system._getframe()")
    [flag] = flags(tmp_path, [hand_in(tmp_path, "ann", notebook)])
    assert "torch.allclose = ..." in flag.seen
    assert "sys._getframe" in flag.seen


@pytest.mark.parametrize("lab", [lab.name for lab in read_labs()])
def test_a_solved_and_a_blank_notebook_raise_no_flag(lab, tmp_path):
    everybody = [
        hand_in(tmp_path, "ann", solved(lab), lab),
        hand_in(tmp_path, "b", blank(lab), lab),
    ]
    assert flags(tmp_path, everybody, lab=lab) == []


def test_attacks_of_the_sample_class_are_mostly_seen_and_honest_work_is_left_alone(tmp_path):
    samples = [s for s in sample_class() if s.lab == LAB and s.status == GRADED]
    paths = [sample.write(tmp_path / "in") for sample in samples]
    everybody = [
        hand_in(tmp_path, sample.student, path.read_bytes())
        for sample, path in zip(samples, paths, strict=True)
        if path.suffix == ".ipynb"
    ]
    named = {name for names in seen(flags(tmp_path, everybody), "grader") for name in names}
    good = {sample.student for sample in honest.SAMPLES}
    attacks = {sample.student for sample in samples if sample.loses == ALL} - good
    assert named.isdisjoint(good)
    assert len(named & attacks) > len(attacks) / 2


def test_a_cell_that_does_not_parse_hides_no_other(tmp_path):
    notebook = with_cell("import ctypes")
    insert(notebook, "this does not parse")
    assert seen(flags(tmp_path, [hand_in(tmp_path, "ann", notebook)]), "grader") == [("ann",)]


def test_locked_cells_that_are_gone_and_changed_signatures_are_seen(tmp_path):
    notebook = solved()
    notebook["cells"] = [
        cell for cell in notebook["cells"]
        if cell["metadata"].get("labkit", {}).get("name") != "check_generate"
    ]  # fmt: skip
    changed = solved(tokens_processed="def tokens_processed(*anything): return 1")
    unmarked = blank()
    for cell in unmarked["cells"]:
        cell["source"] = cell["source"].replace("    # TODO: write this part\n", "", 1)
    everybody = [
        hand_in(tmp_path, "ann", notebook),
        hand_in(tmp_path, "bob", changed),
        hand_in(tmp_path, "cy", unmarked),
    ]
    found = [flag for flag in flags(tmp_path, everybody) if flag.kind == "starter"]
    assert [flag.students for flag in found] == [("ann",), ("bob",), ("cy",)]
    assert "check_generate" in found[0].seen
    assert "docstring changed: tokens_processed." in found[1].seen
    assert "TODO marker is gone: attend_cached" in found[2].seen


def test_a_flag_changes_no_mark_and_no_student_s_page(tmp_path):
    cheat = hand_in(tmp_path, "ann", with_cell("import ctypes, vllm"))
    page = write_feedback(tmp_path, cheat)
    before, row = page.read_bytes(), cheat.to_json()
    path = write_integrity(tmp_path, LAB, [cheat, hand_in(tmp_path, "bob", solved())])
    assert write_feedback(tmp_path, cheat).read_bytes() == before
    assert cheat.to_json() == row
    text = path.read_text()
    for kind in ("server", "grader"):
        assert KINDS[kind].title in text
        assert KINDS[kind].innocent.split(",")[0] in text
        assert KINDS[kind].title.encode() not in before
    assert {flag.kind for flag in read_flags(tmp_path, LAB)} == {"server", "grader"}


def test_what_students_write_is_escaped_on_the_page(tmp_path):
    name = "<script>alert(1)</script>"
    notebook = ran_by(solved(), ("<img src=x>", "1"), ("<b>", "2"))
    notebook["cells"].append(code_cell('open("/proc/<svg onload=x>")'))
    text = write_integrity(tmp_path, LAB, [hand_in(tmp_path, name.replace("/", ""), notebook)])
    page = text.read_text()
    for bad in ("<script", "<img", "<svg", "<b>"):
        assert bad not in page


def test_text_that_no_file_takes_breaks_no_page(tmp_path):
    notebook = ran_by(with_cell('open("/proc/\\ud800\\u202e")'), ("\ud800\u202e", "1"), ("b", "2"))
    page = write_integrity(tmp_path, LAB, [hand_in(tmp_path, "ann", notebook)]).read_text()
    assert "/proc/??" in page
    assert "2 accounts: b, ??." in page


def test_a_submission_without_a_notebook_is_passed_over(tmp_path):
    assert flags(tmp_path, [result("nobody")]) == []


@pytest.mark.parametrize(("command", "folder"), [("integrity",) * 2, ("similar", "similarity")])
def test_the_command_writes_the_page_or_says_what_is_missing(command, folder, tmp_path):
    run = CliRunner()
    refused = run.invoke(app, [command, str(tmp_path), "kv_cache"])
    assert refused.exit_code == 2
    assert "holds no results of 04_kv_cache: grade it first" in refused.output
    row = hand_in(tmp_path, "ann", solved())
    (tmp_path / "results.jsonl").write_text(row.to_json() + "\n")
    done = run.invoke(app, [command, str(tmp_path), "kv_cache"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / folder / f"{LAB}.html").exists()


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["cells", "metadata", "executionInfo", "user", "userId", "displayName",
                         "outputs", "data", "source", "id", "labkit", "kind", "name"]),
        inner, max_size=4,
    ),
    max_leaves=25,
)  # fmt: skip


@given(notebook=JSON)
def test_no_notebook_breaks_the_search(tmp_path_factory, notebook):
    out = tmp_path_factory.mktemp("out")
    for folder in ("submitted", "autograded"):
        path = out / "course" / folder / "ann" / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook))
    flags(out, [result("ann")])


def test_each_exercise_is_known_by_what_was_handed_out():
    starter = starter_of(LAB)
    assert "attend_cached" in starter.open
    assert starter.own_parts(starter.open) == {}
    assert starter.prose and starter.prose < starter.open.keys()
