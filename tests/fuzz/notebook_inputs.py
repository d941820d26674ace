"""Notebooks, scripts and outputs as students, editors and attackers leave them."""

import json
from functools import cache
from pathlib import Path

import nbformat
from damage import damaged
from hypothesis import strategies as st

from autograder.intake.master import read_master
from autograder.intake.rebuild import CLICK_TYPE

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LINE = b"line_1 = 1"
# One with functions to write, one with answers; a part of each, for it to be quick.
LABS = {"01_memory": slice(2, 23), "08_papers": slice(2, 15)}


@cache
def masters():
    whole = {lab: nbformat.read(NOTEBOOKS / f"{lab}.ipynb", as_version=4) for lab in LABS}
    for lab, part in LABS.items():
        whole[lab].cells = whole[lab].cells[part]
    return [read_master(notebook, lab) for lab, notebook in whole.items()]


names = st.sampled_from(
    "largest_model student_id q01 q02_numbers language setup check_q01 cell-1 own-0 x area".split()
) | st.text(max_size=5)  # fmt: skip
pieces = st.sampled_from([
    "x = 1", "def largest_model(vram_bytes):\n    return vram_bytes",
    "%matplotlib inline", "%%time", "!ls", "text = '''\n% not magic\n'''", "student_id = 'r1'",
    "q01 = ...", "q01 = 'A'; y = 2", 'ask("q01", q01)', 'q02_numbers = {"factor": ...}',
    'q02_numbers = {"factor": 0x' + "f" * 5000 + "}", 'check("q01", points=0.5)', "a = 1; b = 2",
    "async def f(): ...", "class C: pass", "@g\ndef h(): pass", "(", "if x:", "    y = 3",
    "# text", "\\", '"""', "π = '\u2028'", "del x", "import math as m", "\x0c", "a = b = q01",
    "x: int = 3", "(q01) = ('''\n''')", "global q01", "lambda: (yield)", "f'{x!r:>{y}}'",
])  # fmt: skip
breaks = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", ";", " ", "\x00", "\ud800", "\t"])
sources = st.lists(pieces | st.text(max_size=6) | breaks, max_size=8).map("\n".join) | st.lists(
    st.tuples(pieces, breaks).map("".join), max_size=8
).map("".join)
answers = st.sampled_from(["A", "B C", "a e", "", "ABCDEFGH", "Z", None]) | st.dictionaries(
    names | st.just("factor"), st.floats(allow_nan=False) | st.integers() | st.text(max_size=3)
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
records = st.fixed_dictionaries(
    {
        "item": names,
        "student_id": st.sampled_from(["r1", "R1 ", "r2", ""]),
        "answer": answers | json_values,
    }
)
mime_data = st.dictionaries(
    st.sampled_from(
        ["text/plain", "text/html", "text/markdown", "image/png", "image/svg+xml", "x"]
    ),
    st.text(max_size=8) | st.sampled_from(["<b>", "aGk=", "a" * 9 + "\n", ["x"]]) | json_values,
    max_size=3,
)
outputs = st.one_of(
    st.builds(
        lambda r: {"output_type": "display_data", "data": {CLICK_TYPE: r}}, records | json_values
    ),
    st.fixed_dictionaries(
        {
            "output_type": st.sampled_from(["display_data", "execute_result", "x"]),
            "data": mime_data | json_values,
        }
    ),
    st.fixed_dictionaries(
        {"output_type": st.just("stream"), "name": json_values, "text": json_values}
    ),
    st.fixed_dictionaries(
        {
            "output_type": st.just("error"),
            "ename": json_values,
            "evalue": json_values,
            "traceback": json_values,
        }
    ),
    json_values,
)


claims = st.fixed_dictionaries(
    {},
    optional={
        "nbgrader": st.fixed_dictionaries({"grade_id": names}) | json_values,
        "labkit": st.fixed_dictionaries({"name": names}) | json_values,
        "id": names,
    },
)
pictures = st.dictionaries(st.text(max_size=3), mime_data | json_values, max_size=2) | json_values
extras = st.fixed_dictionaries({}, optional={"id": names | json_values, "attachments": pictures})


@st.composite
def cells(draw):
    """A cell of a master, or one of a student's own."""
    if draw(st.integers(0, 3)) == 0:
        node = draw(st.sampled_from([cell.node for master in masters() for cell in master.cells]))
        return json.loads(json.dumps(node))
    source = draw(sources)
    texts = st.sampled_from([source, source.splitlines(keepends=True), [source, 3, None], {}])
    return draw(extras) | {
        "cell_type": draw(st.sampled_from(["code", "code", "markdown", "raw", 5])),
        draw(st.sampled_from(["source", "source", "input"])): draw(texts),
        "metadata": draw(claims | json_values),
        "outputs": draw(st.lists(outputs, max_size=3) | json_values),
    }


@st.composite
def notebooks(draw):
    """A notebook file of some format in some encoding."""
    inside = draw(st.lists(cells() | json_values, max_size=6))
    whole = draw(
        st.sampled_from(
            [{"cells": inside, "nbformat": 4}, {"worksheets": [{"cells": inside}, {}]}, inside]
        )
    )
    text = json.dumps(whole, ensure_ascii=draw(st.booleans()))
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"]))
    return text.encode(encoding, "surrogatepass" if "utf" in encoding else "replace")


@st.composite
def scripts(draw):
    """A .py file with the marks of some editor."""
    marks = st.sampled_from([
        "# %%", "#%%", "# %% [markdown]", "# %% [raw]", '# %% name {"a": [1]} b="c"', "# + {",
        "# -", "# ---", "# jupyter:", "#   a: &a [x, x]", "#   b: &b [*a, *a]", "# ---",
        "#!/usr/bin/python", "# -*- coding: latin-1 -*-", "# text", '"""', "# %matplotlib inline",
        "# !ls", LINE.decode(), "text = '\u2028'", "y = (", "z = ')'", "# In[3]:",
        "# <codecell>", "",
    ])  # fmt: skip
    lines = draw(st.lists(marks | pieces | st.text(max_size=6), max_size=20))
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines).encode(errors="replace")


any_notebook = damaged(notebooks()) | st.binary(max_size=100)
any_script = damaged(scripts())
any_outputs = st.lists(outputs, max_size=4).map(lambda each: json.dumps(each).encode())
