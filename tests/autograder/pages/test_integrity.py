"""Flags: what they see, what they leave alone, and that no mark and no student knows of them."""

import json
import re

import pytest
from classroom import LAB, blank, hand_in, result, solved
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from autograder.builder.source import read_labs
from autograder.cli import app
from autograder.pages.evidence.flags import KINDS, read_flags
from autograder.pages.evidence.handed_in import starter_of
from autograder.pages.evidence.hints import HintRow, read_hints
from autograder.pages.evidence.integrity import flags_of, servers_in, write_integrity
from autograder.pages.report import write_feedback, write_report
from autograder.practice import cell_called, insert
from labkit.checks.hints.tries import MIME
from tests.known import mutants_of, variants_of

PAPERS = "08_papers"
CELL = "def helper(x):\n    return x + 1"


def flags(out, results, lab=LAB):
    return flags_of(out, lab, results)


def seen(found, kind):
    """Who is named in the flags of one kind."""
    return [flag.students for flag in found if flag.kind == kind]


def with_cell(source, **options):
    notebook = solved(**options)
    insert(notebook, source)
    return notebook


def test_the_same_file_under_two_names_is_seen_and_a_group_may_share_one(tmp_path):
    notebook = with_cell(CELL)
    everybody = [hand_in(tmp_path, name, notebook) for name in ("ann", "bob")]
    everybody += [hand_in(tmp_path, name, with_cell("x = 1"), group="g") for name in ("cy", "di")]
    assert seen(flags(tmp_path, everybody), "same") == [("ann", "bob")]


def test_a_group_that_shares_its_file_with_an_outsider_is_seen(tmp_path):
    notebook = with_cell(CELL)
    everybody = [hand_in(tmp_path, name, notebook, group="g") for name in ("cy", "di")]
    everybody.append(hand_in(tmp_path, "eve", notebook))
    assert seen(flags(tmp_path, everybody), "same") == [("cy", "di", "eve")]


def test_two_blank_notebooks_are_no_evidence(tmp_path):
    assert flags(tmp_path, [hand_in(tmp_path, name, blank()) for name in ("ann", "bob")]) == []


def test_the_same_answers_are_seen_whatever_the_layout_of_the_file(tmp_path):
    spaced = with_cell(CELL.replace("x + 1", "x  +  1"))
    spaced["metadata"]["title"] = "mine"
    everybody = [hand_in(tmp_path, "ann", with_cell(CELL)), hand_in(tmp_path, "bob", spaced)]
    everybody.append(hand_in(tmp_path, "cy", with_cell("def other(y):\n    return y")))
    assert seen(flags(tmp_path, everybody), "same") == [("ann", "bob")]


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


def test_the_same_papers_answers_under_two_ids_are_the_same_answers(tmp_path):
    everybody = [
        hand_in(tmp_path, name, solved(PAPERS, student_id=f'student_id = "{name}"'), PAPERS)
        for name in ("ann", "bob")
    ]
    assert seen(flags(tmp_path, everybody, PAPERS), "same") == [("ann", "bob")]


@pytest.mark.parametrize(
    "source",
    [
        "import vllm",
        "import sglang.srt as server, torch",
        "from sglang.srt import server",
        "try:\n    from vllm import LLM as Model\nexcept ImportError:\n    pass",
        "!pip install -q vllm",
        "%pip install sglang==0.4",
    ],
)
def test_an_inference_server_is_seen_beside_a_cell_that_does_not_parse(source, tmp_path):
    notebook = with_cell(source)
    insert(notebook, "this does not parse")
    (flag,) = flags(tmp_path, [hand_in(tmp_path, "ann", notebook)])
    assert flag.kind == "server"
    assert flag.seen.endswith((": vllm.", ": sglang."))


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_no_known_answer_right_or_wrong_is_taken_for_a_server(lab):
    texts = [each.source for each in variants_of(lab) + mutants_of(lab)]
    assert [text for text in texts if servers_in(text)] == []


@pytest.mark.parametrize("lab", [lab.name for lab in read_labs()])
def test_a_solved_and_a_blank_notebook_raise_no_flag(lab, tmp_path):
    everybody = [
        hand_in(tmp_path, "ann", solved(lab), lab),
        hand_in(tmp_path, "b", blank(lab), lab),
    ]
    assert flags(tmp_path, everybody, lab=lab) == []


def test_locked_cells_and_todo_lines_that_are_gone_and_changed_signatures_are_seen(tmp_path):
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
    found = flags(tmp_path, everybody)
    assert seen(found, "given") == [("ann",), ("bob",)]
    assert seen(found, "todo") == [("cy",)]
    assert "check_generate" in found[0].seen
    assert "docstring changed: tokens_processed." in found[1].seen
    assert found[2].seen.startswith("rotate, forward_cached")


def test_a_flag_changes_no_mark_and_no_student_s_page(tmp_path):
    cheat = hand_in(tmp_path, "ann", with_cell("import vllm"))
    page = write_feedback(tmp_path, cheat)
    before, row = page.read_bytes(), cheat.to_json()
    path = write_integrity(tmp_path, LAB, [cheat, hand_in(tmp_path, "bob", solved())])
    assert write_feedback(tmp_path, cheat).read_bytes() == before
    assert cheat.to_json() == row
    text = path.read_text()
    assert KINDS["server"].title in text
    assert KINDS["server"].innocent.split(",")[0] in text
    assert KINDS["server"].title.encode() not in before
    assert [flag.kind for flag in read_flags(tmp_path, LAB)] == ["server"]


def test_flags_of_the_version_before_are_read_as_far_as_their_kinds_are_known(tmp_path):
    write_integrity(tmp_path, LAB, [hand_in(tmp_path, "ann", with_cell("import vllm"))])
    path = tmp_path / "integrity" / f"{LAB}.json"
    old = [{"kind": "grader", "students": ["bob"], "seen": "There is `ctypes`."}]
    path.write_text(json.dumps(json.loads(path.read_text()) + old))
    assert [flag.kind for flag in read_flags(tmp_path, LAB)] == ["server"]
    assert write_report(tmp_path, [result("bob")]).exists()


def test_what_students_write_is_escaped_on_the_page(tmp_path):
    name = "<script>alert(1)<b>"
    path = write_integrity(tmp_path, LAB, [hand_in(tmp_path, name, with_cell("import vllm"))])
    page = path.read_text()
    assert "alert(1)" in page
    for bad in ("<script", "<b>"):
        assert bad not in page


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
        st.sampled_from(["cells", "metadata", "source", "id", "labkit", "kind", "name"]),
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
    assert "GrowingCache" in starter.open
    assert starter.own_parts(starter.open) == {}
    assert starter.prose and starter.prose < starter.open.keys()


def with_tries(notebook, exercise, is_passed, *n_versions):
    """The notebook in which the check of an exercise keeps that so many versions failed."""
    versions = {f"check_{i}": [f"{k:08}" for k in range(n)] for i, n in enumerate(n_versions)}
    data = {"text/plain": "1", MIME: {"passed": is_passed, "versions": versions}}
    output = {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}
    cell_called(notebook, f"check_{exercise}")["outputs"] = [output]
    return notebook


def test_the_class_report_counts_at_which_hint_people_stop(tmp_path):
    class_ = {"ann": (True,), "bob": (True, 1), "cy": (False, 2, 1), "di": (False, 7)}
    class_["eve"] = (True, 3)
    rows = [
        hand_in(tmp_path, name, with_tries(solved(), "rotate", *tries))
        for name, tries in class_.items()
    ]
    rows.append(hand_in(tmp_path, "fay", solved()))  # no output says anything
    write_integrity(tmp_path, LAB, rows)
    assert read_hints(tmp_path, LAB) == [HintRow("rotate", [1, 1, 0, 1], [0, 0, 1, 1])]
    page = write_report(tmp_path, rows).read_text()
    table = page.partition("At which hint people stop")[2].partition("</table>")[0]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)
    assert cells == ["rotate", "1 passed", "1 passed", "0 passed, 1 stopped", "1 passed, 1 stopped"]
    assert not {*class_} & {*re.findall(r"\w+", table)}


def test_forged_hints_change_no_flag_and_name_no_exercise_that_is_not_there(tmp_path):
    notebook = with_tries(blank(), "rotate", "<b>", 5)
    check = cell_called(notebook, "check_rotate")
    check["metadata"]["labkit"]["name"] = "check_<script>"
    rows = [hand_in(tmp_path, "ann", notebook)]
    write_integrity(tmp_path, LAB, rows)
    assert read_hints(tmp_path, LAB) == read_hints(tmp_path, "none") == []
    assert "At which hint" not in write_report(tmp_path, rows).read_text()
