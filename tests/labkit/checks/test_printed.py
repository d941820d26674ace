"""The page to print has all answers, figures and tables of a notebook, and nothing that runs."""

import json
import re

import pytest

from autograder.builder.source import find_lab
from autograder.practice import cell_called, code_cell, solved_notebook
from labkit.checks import Checker
from labkit.checks.handin import WRITTEN_STUB
from labkit.checks.printed.report import button, write_report
from labkit.cli import main

LAB = find_lab("memory")
NAME = "陳" * 80
PIXEL = "iVBORw0KGgo="


def output(**data):
    kinds = {"png": "image/png", "html": "text/html", "plain": "text/plain"}
    return {"output_type": "display_data", "metadata": {},
            "data": {kinds[kind]: value for kind, value in data.items()}}  # fmt: skip


@pytest.fixture
def notebook():
    """Solved, with a figure, a table, prints and a picture in an answer."""
    whole = solved_notebook(LAB)
    cell_called(whole, "student_id")["source"] = f'student_name = "{NAME}"\nstudent_id = "r1"'
    cell_called(whole, "growth")["source"] = "הגידול <b>linear</b> $x$"
    cell_called(whole, "growth")["attachments"] = {"plot.png": {"image/png": PIXEL}}
    figure = next(c for c in whole["cells"] if c["metadata"].get("labkit", {}).get("kind") ==
                  "experiment")  # fmt: skip
    figure["outputs"] = [
        output(png=PIXEL, html='<img alt="Bytes &amp; tokens">', plain="<Figure>"),
        output(html="<table><tr><td>7 GB</td></tr></table>", plain="no"),
        output(plain="a remark of the kit"),
    ]
    own = code_cell("own = 1 < 2\nprint(own)")
    own["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["\x1b[31mTrue\n"]}]
    whole["cells"].append(own)
    whole["cells"].append({"cell_type": "markdown", "metadata": {}, "source": "My own remark."})
    return whole


def page_of(tmp_path, notebook):
    path = tmp_path / f"{LAB.name}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return write_report(path).read_text(encoding="utf-8")


def test_each_answer_figure_and_table_stands_below_its_heading(tmp_path, notebook):
    page = page_of(tmp_path, notebook)
    assert f"<h1>Lab 1: What fits on a GPU?, {NAME}, r1</h1>" in page
    for cell in LAB.marked:
        source = "".join(cell_called(notebook, cell.name)["source"])
        assert source.splitlines()[-1].replace('"', "&quot;").replace("<", "&lt;") in page
    assert '<div class="text" dir="auto">הגידול &lt;b&gt;linear&lt;/b&gt; $x$</div>' in page
    assert page.count(f"base64,{PIXEL}") == 2
    assert 'alt="Bytes &amp; tokens"' in page
    assert "<table><tr><td>7 GB</td></tr></table>" in page
    assert (
        '<pre tabindex="0">own = 1 &lt; 2\nprint(own)</pre>\n<pre tabindex="0">True</pre>' in page
    )
    assert "My own remark." in page
    assert "a remark of the kit" not in page
    assert "After this lab you can" not in page
    headings = re.findall("<h2>(.*?)</h2>", page)
    assert headings.index("1. Parameters") < headings.index("3. The KV cache")


def test_nothing_on_the_page_runs_or_is_loaded(tmp_path, notebook):
    script = output(html="<script>alert(1)</script><table></table><img src=http://x.y/z>")
    notebook["cells"][-2]["outputs"] = [script]
    assert "content=\"default-src 'none'; style-src" in page_of(tmp_path, notebook)


def test_what_is_not_written_is_one_line_and_a_blank_notebook_reads(tmp_path, notebook):
    cell_called(notebook, "growth")["source"] = WRITTEN_STUB
    assert page_of(tmp_path, notebook).count("<p>Not written yet.</p>") == 1
    assert "<h1>x</h1>" in page_of_text(tmp_path, '{"cells": [], "metadata": {}}')


def page_of_text(tmp_path, text):
    (tmp_path / "x.ipynb").write_text(text, encoding="utf-8")
    return write_report(tmp_path / "x.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 1}', '{"cells": [1], "metadata": {}}'])
def test_what_is_no_notebook_is_refused_in_one_sentence(tmp_path, text, capsys):
    (tmp_path / "x.ipynb").write_text(text)
    assert main(["report", str(tmp_path / "x.ipynb")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("labkit: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "x-report.html").exists()


def test_the_command_and_the_notebook_write_the_same_page(tmp_path, notebook, capsys, monkeypatch):
    page = page_of(tmp_path, notebook)
    path = tmp_path / f"{LAB.name}.ipynb"
    assert main(["report", str(path), "-o", str(tmp_path / "p.html")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'p.html'}\n"
    assert (tmp_path / "p.html").read_text(encoding="utf-8") == page
    monkeypatch.chdir(tmp_path)
    made = Checker(LAB.topic, {}).report()
    assert made.name == f"{LAB.name}-report.html"
    path.unlink()
    with pytest.raises(ValueError, match="no notebook of this lab lies in"):
        Checker(LAB.topic, {}).report()


def test_the_button_writes_the_page_and_says_where_or_why_not(tmp_path, notebook, monkeypatch):
    page_of(tmp_path, notebook)
    monkeypatch.chdir(tmp_path)
    page = tmp_path / f"{LAB.name}-report.html"
    page.unlink()
    pressed, said = button(tmp_path / f"{LAB.name}.ipynb").children
    pressed.click()
    assert page.exists()
    assert f'<a href="{page.name}" target="_blank">{page.name}</a> is written.' in said.value
    (tmp_path / f"{LAB.name}.ipynb").unlink()
    pressed.click()
    assert "No such file" in said.value
