"""Reading anything: every dialect gives the cells, everything else a sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake.read import Unreadable, read_notebook


def notebook(cells, **extra):
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **extra}


CELL = {
    "cell_type": "code",
    "source": ["x = 1\n", "y = 2"],
    "metadata": {"nbgrader": {"grade_id": "a"}, "id": "colab"},
    "id": "b",
}


def read(content, name="x.ipynb"):
    return read_notebook(
        content if isinstance(content, bytes) else json.dumps(content).encode(), name
    )


def test_a_cell_gives_source_and_what_it_claims_to_be():
    (cell,) = read(notebook([CELL]))
    assert cell.is_code
    assert cell.source == "x = 1\ny = 2"
    assert cell.names == ("a", "b", "colab")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_do_not_matter(encoding):
    text = json.dumps(notebook([{**CELL, "source": "s = 'héé 雪'"}]), ensure_ascii=False)
    assert read(text.encode(encoding))[0].source == "s = 'héé 雪'"


def test_latin_text_is_read_all_the_same():
    text = json.dumps(notebook([{**CELL, "source": "s = 'é'"}]), ensure_ascii=False)
    assert read(text.encode("cp1252"))[0].source == "s = 'é'"


@pytest.mark.parametrize("version", [4, 5, 99, "4", None])
def test_the_format_number_does_not_matter(version):
    assert len(read(notebook([CELL], nbformat=version))) == 1


def test_nbformat_3_is_read():
    old = {"cell_type": "code", "input": "x = 1", "language": "python", "outputs": []}
    content = {"nbformat": 3, "worksheets": [{"cells": [old]}, {"cells": [old]}]}
    assert [cell.source for cell in read(content)] == ["x = 1", "x = 1"]


def test_scripts_are_read_by_cell_or_whole():
    script = b"# %%\nx = 1\n\n# %% [markdown]\n# text\n\n# %%\ny = 2\n"
    cells = read(script, "x.py")
    assert [cell.source for cell in cells if cell.is_code] == ["x = 1", "y = 2"]
    assert read(b"x = 1\ny = 2\n", "x.PY")[0].source.split() == "x = 1 y = 2".split()


def test_text_is_cleaned():
    content = json.dumps(notebook([{**CELL, "source": "a\x00b\ud800c\r\nd"}])).encode()
    assert read(content)[0].source == "ab?c\nd"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"{", "not valid JSON"),
        (b'{"cells": [}', "line 1, column 12"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "no cells"),
        (b"null", "no cells"),
        (b'{"cells": {}}', "no cells"),
        (b'{"worksheets": 3}', "no cells"),
        (bytes(range(256)), "not text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00", "not text"),
        (b'{"cells": ' + b"9" * 5000 + b"}", "not a notebook"),
        (b"PK\x03\x04 a zip", "not valid JSON"),
        (b"x" * (51 << 20), "MB"),
    ],
    ids=range(14),
)
def test_what_cannot_be_read_says_why(content, sentence):
    with pytest.raises(Unreadable, match=sentence):
        read(content)


@pytest.mark.parametrize(
    "cell",
    [
        None,
        3,
        [],
        {},
        {"cell_type": 5, "source": {}, "metadata": []},
        {"source": [1, "x"], "metadata": {"nbgrader": 7}, "id": []},
    ],
)
def test_odd_cells_are_no_reason_to_fail(cell):
    assert len(read(notebook([cell, CELL]))) in (1, 2)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["cells", "cell_type", "source", "metadata", "nbgrader", "grade_id", "id",
                         "worksheets", "input", "outputs", "nbformat"]), inner, max_size=4),
    max_leaves=15,
)  # fmt: skip


@given(json_values | st.builds(notebook, st.lists(json_values, max_size=4)))
def test_any_json_gives_cells_or_unreadable(content):
    try:
        cells = read(content)
    except Unreadable:
        return
    assert all(isinstance(cell.source, str) for cell in cells)


@given(st.binary(max_size=200), st.sampled_from(["a.ipynb", "a.py"]))
def test_any_bytes_give_cells_or_unreadable(content, name):
    try:
        read_notebook(content, name)
    except Unreadable:
        return
