"""A written answer counts wherever the student wrote it: on the desk, the page, for the hand-in."""

import json

import pytest
from classroom import blank, hand_in, master, solved
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.desk.answers import Answers
from autograder.desk.groups import BLANK
from autograder.intake.master import read_master
from autograder.intake.read import SubmittedCell, read_notebook
from autograder.intake.rebuild import rebuild
from autograder.pages.feedback import write_feedback
from autograder.practice import cell_called, code_cell
from labkit.checks import handin
from labkit.checks.outline import outline_of
from labkit.checks.written import WRITTEN_STUB, is_unwritten

LAB, NAME = "01_memory", "growth"
WORDS = "It is linear in the batch size and in the length."
PICTURE = "iVBORw0KGgo="


def text_cell(source, **fields):
    return {"cell_type": "markdown", "metadata": {}, "source": source, **fields}


def place_of(notebook, name=NAME):
    return notebook["cells"].index(cell_called(notebook, name))


def put(cell, offset):
    """An edit that puts a cell so many places below (1: right below) the answer's."""

    def edit(notebook):
        notebook["cells"].insert(place_of(notebook) + offset, cell)

    return edit


def into_question(notebook):
    notebook["cells"][place_of(notebook) - 1]["source"] += f"\n\n{WORDS}"


def in_the_middle_of_the_question(notebook):
    cell = notebook["cells"][place_of(notebook) - 1]
    first, _, rest = cell["source"].partition("\n")
    cell["source"] = f"{first}\n{WORDS}\n{rest}"


def in_place_of_the_question(notebook):
    notebook["cells"][place_of(notebook) - 1]["source"] = WORDS


def into_the_next_heading(notebook):
    cell = notebook["cells"][place_of(notebook) + 1]
    cell["source"] = f"{WORDS}\n\n{cell['source']}"


def typed_anew(notebook):
    """The answer's cell was deleted; a new one is a code cell first, then the answer."""
    at = place_of(notebook)
    notebook["cells"][at : at + 1] = [code_cell("1 + 1"), text_cell(WORDS)]


def typed_anew_as_a_comment(notebook):
    notebook["cells"][place_of(notebook)] = code_cell(f"# {WORDS}")


def merged_with_its_question(notebook):
    at = place_of(notebook)
    question = notebook["cells"].pop(at - 1)
    merged = text_cell(f"{question['source']}\n\n{WORDS}", id=question["id"])
    notebook["cells"][at - 1] = merged


def turned_into_code(notebook):
    cell = cell_called(notebook, NAME)
    cell |= code_cell(f"# {WORDS}") | {"metadata": cell["metadata"], "id": cell["id"]}


def split(notebook):
    """As JupyterLab splits a cell: both halves keep the metadata."""
    cell = cell_called(notebook, NAME)
    half = json.loads(json.dumps(cell)) | {"source": "And that is why."}
    cell["source"] = WORDS
    notebook["cells"].insert(place_of(notebook) + 1, half)


def only_a_picture(notebook):
    cell_called(notebook, NAME)["attachments"] = {"a.png": {"image/png": PICTURE}}


def in_a_comment_of_html(notebook):
    cell_called(notebook, NAME)["source"] = f"<!-- {WORDS} -->"


EDITS = {
    "a new cell below": put(text_cell(WORDS), 1),
    "a new cell above": put(text_cell(WORDS), 0),
    "a raw cell": put({**text_cell(WORDS), "cell_type": "raw"}, 1),
    "a comment in a code cell": put(code_cell(f"# {WORDS}"), 1),
    "prose in a code cell": put(code_cell(WORDS), 1),
    "a string in a code cell": put(code_cell(f'answer = """{WORDS}"""'), 1),
    "printed": put(code_cell(f'print("{WORDS}")'), 1),
    "a comment above a computation": put(code_cell(f"# {WORDS}\n2 * 36 * 8"), 1),
    "a cell of Markdown magic": put(code_cell(f"%%markdown\n{WORDS}"), 1),
    "below a cell of code": lambda notebook: [
        put(text_cell(WORDS), 1)(notebook), put(code_cell("2 * 36 * 8"), 1)(notebook)
    ],
    "the question's cell": into_question,
    "the middle of the question": in_the_middle_of_the_question,
    "in place of the question": in_place_of_the_question,
    "the next section's cell": into_the_next_heading,
    "above its question": put(text_cell(WORDS), -1),
    "below the next cells": put(text_cell(WORDS), 3),
    "the end of the notebook": lambda notebook: notebook["cells"].append(text_cell(WORDS)),
    "typed anew": typed_anew,
    "typed anew as a comment": typed_anew_as_a_comment,
    "merged with its question": merged_with_its_question,
    "turned into a code cell": turned_into_code,
    "an HTML comment": in_a_comment_of_html,
}  # fmt: skip


def without_answer(edit=None):
    """A solved notebook whose answer is open, and then edited."""
    notebook = solved(LAB, **{NAME: WRITTEN_STUB})
    if edit:
        edit(notebook)
    return notebook


def desk_of(tmp_path, **notebooks):
    """The sheet of the desk, and the answers on it by student."""
    for student, notebook in notebooks.items():
        record_line(tmp_path, hand_in(tmp_path, student, notebook, LAB, score=1.0))
    sheet = Answers(tmp_path, "secret").sheet(LAB, NAME)
    return sheet, {answer.key.student: answer for answer in sheet.answers.values()}


def record_line(out, result):
    with (out / "results.jsonl").open("a", encoding="utf-8") as log:
        log.write(f"{result.to_json()}\n")


def rebuilt(notebook):
    content = json.dumps(notebook).encode()
    return rebuild(master(LAB), read_notebook(content, f"{LAB}.ipynb"))


@pytest.mark.parametrize("where", EDITS)
def test_an_answer_beside_its_cell_is_shown_and_outside_of_the_blank_group(tmp_path, where):
    sheet, found = desk_of(tmp_path, ada=without_answer(EDITS[where]), bo=without_answer())
    assert WORDS in found["ada"].text
    assert sheet.groups[found["ada"].id].kind != BLANK
    assert sheet.groups[found["bo"].id].members == (found["bo"].id,)
    assert sheet.groups[found["bo"].id].kind == BLANK


@pytest.mark.parametrize("where", [each for each in EDITS if each not in (
    "turned into a code cell", "an HTML comment", "typed anew")])  # fmt: skip
def test_an_answer_beside_its_cell_has_a_flag_that_names_the_cell(where):
    notebook = without_answer(EDITS[where])
    lines = [i for i, cell in enumerate(notebook["cells"], start=1) if WORDS in cell["source"]]
    flags = [note for note in rebuilt(notebook).notes if note.startswith(f"the answer {NAME}: ")]
    assert len(flags) == 1
    assert flags[0].endswith(f"cell {lines[0]}")


def test_the_page_shows_an_answer_beside_its_cell_and_says_where_it_stood(tmp_path):
    notebook = without_answer(EDITS["a new cell below"])
    result = hand_in(tmp_path, "ada", notebook, LAB, score=1.0, written={NAME: 1.0})
    page = write_feedback(tmp_path, result).read_text(encoding="utf-8")
    assert WORDS in page
    assert "Written beside the empty answer cell, in cell " in page
    assert "Your notebook has no answer here." not in page


def test_a_blank_answer_stays_blank_beside_code_without_words():
    notes = rebuilt(without_answer(put(code_cell("kv_table[0]\n2 * 36 * 8"), 1))).notes
    assert notes == []
    assert rebuilt(without_answer()).notes == []


def test_a_test_cell_that_was_changed_is_no_answer_of_the_question_beside_it():
    cells = [new_markdown_cell("Why?", id="p"), new_markdown_cell("Write here.", id="why"),
             new_code_cell("assert a == 1", id="check_a")]  # fmt: skip
    cells[1].metadata["labkit"] = {"kind": "written", "name": "why"}
    cells[2].metadata["labkit"] = {"kind": "check", "name": "check_a"}
    small = read_master(new_notebook(cells=cells), "lab")
    texts = ("Why?", "Write here.", "# assert a == 1")
    submitted = [SubmittedCell(cell.cell_type == "code", text, (cell.id,))
                 for cell, text in zip(cells, texts, strict=True)]  # fmt: skip
    assert rebuild(small, submitted).notes == ["the test cell check_a was missing or changed"]


def test_of_a_whole_class_only_answers_without_text_are_blank(tmp_path):
    notebooks = {f"s{i}": without_answer(edit) for i, edit in enumerate(EDITS.values())}
    sheet, found = desk_of(
        tmp_path, **notebooks, none=without_answer(), empty=solved(LAB, growth="")
    )
    blank_ones = {each.key.student for each in found.values()
                  if sheet.groups[each.id].kind == BLANK}  # fmt: skip
    assert blank_ones == {"none", "empty"}


def test_an_answer_that_goes_on_in_the_next_cell_is_read_to_its_end(tmp_path):
    notebook = solved(LAB, growth="First.")
    put(text_cell(WORDS), 1)(notebook)
    _, found = desk_of(tmp_path, ada=notebook)
    assert found["ada"].text == f"First.\n\n{WORDS}"
    assert found["ada"].noted[0].startswith("goes on beside its cell, in cell ")


def test_both_halves_of_a_split_answer_are_read(tmp_path):
    _, found = desk_of(tmp_path, ada=without_answer(split))
    assert found["ada"].text == f"{WORDS}\n\nAnd that is why."


def test_a_scratch_cell_beside_a_full_answer_is_no_part_of_it(tmp_path):
    notebook = solved(LAB, growth="First.")
    put(code_cell("# check\nprint(2 * 36 * 8)"), 1)(notebook)
    _, found = desk_of(tmp_path, ada=notebook)
    assert (found["ada"].text, found["ada"].noted) == ("First.", ())


def test_an_answer_merged_with_the_next_question_belongs_to_that_one(tmp_path):
    lab, first, second = "04_kv_cache", "curve", "rewinding"
    notebook = solved(lab, curve="The curve is flat.", rewinding=WORDS)
    at = notebook["cells"].index(cell_called(notebook, first))
    assert at + 2 == notebook["cells"].index(cell_called(notebook, second))
    merged = "\n\n".join(cell["source"] for cell in notebook["cells"][at : at + 3])
    notebook["cells"][at : at + 3] = [notebook["cells"][at] | {"source": merged}]
    record_line(tmp_path, hand_in(tmp_path, "ada", notebook, lab, score=1.0))
    (answer,) = Answers(tmp_path, "secret").sheet(lab, second).answers.values()
    assert answer.text == WORDS


def test_pictures_alone_are_an_answer_and_other_pictures_another_one(tmp_path):
    other = without_answer(only_a_picture)
    cell_called(other, NAME)["attachments"] = {"a.png": {"image/png": "iVBORw0KGgoA"}}
    sheet, found = desk_of(tmp_path, ada=without_answer(only_a_picture), bo=other)
    assert found["ada"].pictures
    assert sheet.groups[found["ada"].id].members == (found["ada"].id,)


@pytest.mark.parametrize("where", EDITS)
def test_a_notebook_with_an_answer_beside_its_cell_is_not_blank(where):
    notebook = blank(LAB)
    assert rebuilt(notebook).is_blank
    EDITS[where](notebook)
    assert not rebuilt(notebook).is_blank


def ready(tmp_path, notebook):
    path = tmp_path / f"{LAB}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return handin.look_at(path, LAB, outline_of("memory"), ())


@pytest.mark.parametrize(
    "where", [each for each in EDITS if "typed anew" not in each and "merged" not in each]
)
def test_the_hand_in_check_finds_the_text_beside_and_asks_to_move_it(tmp_path, where):
    found = ready(tmp_path, without_answer(EDITS[where]))
    assert f"The written answer `{NAME}` is still empty." not in found.remarks
    if where not in ("turned into a code cell", "an HTML comment"):
        (remark,) = found.remarks
        assert "is empty, but this text stands outside of it" in remark
        assert "move it into the cell" in remark


@pytest.mark.parametrize("where", ["typed anew", "merged with its question"])
def test_the_hand_in_check_says_that_the_answers_cell_is_gone(tmp_path, where):
    found = ready(tmp_path, without_answer(EDITS[where]))
    assert found.problems[0].startswith(f"The cell `{NAME}` is gone.")
    assert f"The written answer `{NAME}` is still empty." not in found.remarks


def test_only_marks_and_the_stub_are_no_answer():
    stubs = (WRITTEN_STUB, "Write your answer here", "**Write your answer here.**\n---")
    for text in ("", " \n", *stubs, "YOUR ANSWER HERE", "...", "> "):
        assert is_unwritten(text)
    for text in ("0", "∞", "否", "$x$", f"{WRITTEN_STUB} No.", "![](attachment:a.png)"):
        assert not is_unwritten(text)


SOLUTION = "def largest_model(vram_bytes):\n    return vram_bytes // 2"


@pytest.mark.parametrize("offset", [0, 1], ids=["above", "below"])
@pytest.mark.parametrize("name", ["largest_model", "kv_table"])
def test_code_beside_its_untouched_cell_counts_above_it_and_below_it(name, offset):
    notebook = solved(LAB)
    cell = cell_called(notebook, name)
    notebook["cells"].insert(notebook["cells"].index(cell) + offset, code_cell(cell["source"]))
    cell["source"] = cell_called(blank(LAB), name)["source"]
    found, whole = rebuilt(notebook), rebuilt(solved(LAB))
    assert [step.source for step in found.steps] == [step.source for step in whole.steps]
    (note,) = found.notes
    assert note.startswith(f"the cell {name} is as it was handed out, but cell ")
    shown = {node.metadata.get("labkit", {}).get("name"): node for node in found.notebook}
    assert shown[name].source == cell_called(solved(LAB), name)["source"]
