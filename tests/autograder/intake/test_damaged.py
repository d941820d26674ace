"""A notebook that was damaged on its way is read as far as it goes, and flagged."""

import json

import pytest
from classroom import hand_in, master, solved
from desk_store import LAB

from autograder.desk.outputs import outputs_of
from autograder.desk.states import AnswerId
from autograder.intake.doubled import half_of
from autograder.intake.read import read_notebook, read_with_notes
from autograder.intake.rebuild import rebuild
from autograder.pages.feedback import write_feedback
from autograder.practice import cell_called, copy_of

CHINESE = "快取隨批次大小與長度線性成長，因為每個權杖都要儲存鍵與值。"
OUTPUT = {"output_type": "stream", "name": "stdout", "text": "MARK"}


def notebook_with_output(text):
    notebook = solved(LAB, growth=text)
    cell = next(cell for cell in notebook["cells"]
                if cell["metadata"].get("labkit", {}).get("kind") == "experiment")  # fmt: skip
    cell["outputs"] = [OUTPUT]
    return notebook


def damaged(notebook, n=1):
    """The file in UTF-8, with n bad bytes in an output."""
    content = json.dumps(notebook, ensure_ascii=False).encode()
    return content.replace(b"MARK", b"progress " + b"\xe2\xff"[:1] * n)


@pytest.mark.parametrize(("n", "told"), [(1, "1 bad byte"), (7, "7 bad bytes")])
def test_a_bad_byte_in_an_output_costs_no_answer_and_is_counted(n, told):
    content = damaged(notebook_with_output(CHINESE), n)
    cells, notes = read_with_notes(content, "x.ipynb")
    assert CHINESE in [cell.source for cell in cells]
    assert notes == [f"the file has {told}, shown as \ufffd: it was damaged on its way"]


def test_a_bad_byte_in_an_answer_costs_that_letter():
    content = json.dumps(solved(LAB, growth=f"{CHINESE}MARK"), ensure_ascii=False).encode()
    cells, notes = read_with_notes(content.replace(b"MARK", b"\x80"), "x.ipynb")
    assert f"{CHINESE}\ufffd" in [cell.source for cell in cells]
    assert len(notes) == 1


def test_the_outputs_of_a_damaged_notebook_are_shown_on_the_desk_too(tmp_path):
    hand_in(tmp_path, "ada", damaged(notebook_with_output(CHINESE)), LAB)
    (output,) = outputs_of(tmp_path, AnswerId(LAB, "growth", "ada"))
    assert output.text == "progress \ufffd"


TEXTS = {
    "big5": CHINESE,
    "gb18030": "缓存随批量大小线性增长，因为每个词元都要存储键和值。",
    "cp932": "キャッシュはバッチサイズと長さに比例する。",
    "cp949": "캐시는 배치 크기와 길이에 비례한다.",
    "cp1252": "Der Schlüssel wächst, wie José schon sagte.",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_a_file_in_an_encoding_of_windows_is_read_in_it_and_flagged(encoding):
    notebook = json.dumps(solved(LAB, growth=TEXTS[encoding]), ensure_ascii=False)
    cells, notes = read_with_notes(notebook.encode(encoding, "ignore"), "x.ipynb")
    assert TEXTS[encoding] in [cell.source for cell in cells]
    assert notes == [
        f"the file is not UTF-8: it was read as {encoding}, and letters in it may be wrong"
    ]


def test_a_whole_file_has_no_such_flag():
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        content = json.dumps(solved(LAB, growth=f"{CHINESE} \ufffd"), ensure_ascii=False)
        assert read_with_notes(content.encode(encoding), "x.ipynb")[1] == []


def put_back(notebook):
    return rebuild(master(LAB), read_notebook(json.dumps(notebook).encode(), "x.ipynb"))


@pytest.mark.parametrize("between", ["", "\n"])
def test_the_doubled_text_of_cells_is_read_once_and_flagged(tmp_path, between):
    whole, notebook = solved(LAB), solved(LAB)
    long = [cell for cell in notebook["cells"] if len(cell["source"]) >= 12]
    for cell in long:
        cell["source"] += between + cell["source"]
    found = put_back(notebook)
    assert [step.source for step in found.steps] == [step.source for step in put_back(whole).steps]
    told = f"the text of {len(long)} cells stands twice in them"
    assert found.notes == [
        f"{told}: it was read once; a person has to see whether the answers are whole"
    ]
    result = hand_in(tmp_path, "ada", notebook, LAB, score=1.0)
    assert told in write_feedback(tmp_path, result).read_text(encoding="utf-8")


def test_a_text_that_a_student_wrote_twice_stays():
    notebook = solved(LAB, growth="It is linear. It is linear. ")
    assert half_of(cell_called(notebook, "growth")["source"])
    shown = put_back(notebook)
    assert shown.notes == []
    assert any("It is linear. It is linear." in node.source for node in shown.notebook)


def test_cells_that_stand_twice_are_told_as_before():
    notebook = solved(LAB)
    cell = cell_called(notebook, "largest_model")
    notebook["cells"].insert(notebook["cells"].index(cell), copy_of(cell))
    assert put_back(notebook).notes == ["the cell largest_model appears 2 times"]
