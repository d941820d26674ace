"""Questions in the notebook: what is clicked is stored, shown and set; text without widgets."""

import json
import subprocess
import sys

import IPython.display
import pytest

from labkit.labs.papers import widget as papers_widget
from labkit.labs.papers.items import explained, items, number_in, options_for
from labkit.labs.papers.store import ANSWER_TYPE, FILE_NAME, this_notebook
from labkit.labs.papers.text import Question, as_html
from labkit.labs.papers.widget import Asker

ME = {"student_id": "b1", "language": "en"}


class Screen:
    """What was displayed, each with its latest content."""

    def __init__(self):
        self.outputs = []

    def display(self, content, raw=False, display_id=None):
        data = content if raw else content._repr_mimebundle_()
        output = {"output_type": "display_data", "data": data, "metadata": {}}
        self.outputs.append(output)
        self.box = content if not raw else self.box
        return Handle(output) if display_id else None

    @property
    def line(self):
        return self.outputs[-1]["data"]["text/plain"]

    @property
    def record(self):
        return self.outputs[-1]["data"].get(ANSWER_TYPE)

    def controls(self, kind):
        found, boxes = [], [self.box]
        while boxes:
            box = boxes.pop(0)
            boxes[:0] = getattr(box, "children", ())
            if type(box).__name__ == kind:
                found.append(box)
        return found


class Handle:
    def __init__(self, output):
        self._output = output

    def update(self, data, raw):
        assert raw
        self._output["data"] = json.loads(json.dumps(data))


@pytest.fixture
def screen(monkeypatch, tmp_path):
    """A front end with widgets, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers_widget, "has_widgets", lambda: True)
    screen = Screen()
    monkeypatch.setattr(IPython.display, "display", screen.display)
    return screen


def asked(name, written=..., **names):
    """A notebook in which the question's cell has just run."""
    notebook = {**ME, name: written, **names}
    Asker(notebook)(name, written)
    return notebook


def test_clicks_are_stored_shown_and_set(screen):
    notebook = asked("q02")
    assert (screen.line, screen.record, notebook["q02"]) == ("Nothing is stored yet.", None, ...)
    boxes = screen.controls("Checkbox")
    assert [box.description for box in boxes] == list("ABCDE")
    boxes[4].value = True
    assert screen.line == 'Stored: q02 = "E" (1 of 3 so far)'
    boxes[0].value = boxes[2].value = True
    assert screen.line == 'Stored: q02 = "A C E"'
    assert screen.record == {"item": "q02", "student_id": "b1", "answer": "A C E"}
    assert notebook["q02"] == "A C E"
    boxes[0].value = False
    assert notebook["q02"] == "C E"


def test_where_one_option_is_right_the_last_click_stays(screen):
    notebook = asked("q05")
    boxes = screen.controls("Checkbox")
    boxes[1].value = True
    boxes[3].value = True
    assert notebook["q05"] == "D" and [box.value for box in boxes].count(True) == 1
    boxes[3].value = False
    assert notebook["q05"] is ... and screen.record is None


def test_an_order_is_stored_by_its_places(screen):
    notebook = asked("q01")
    for menu, letter in zip(screen.controls("Dropdown"), "CABED", strict=True):
        menu.value = letter
    assert notebook["q01"] == "C A B E D"
    assert screen.line == 'Stored: q01 = "C A B E D"'


def test_numbers_are_stored_as_they_are_typed(screen):
    notebook = asked("q03_numbers", {"top_kept": ..., "any_kept": ...})
    first, second = screen.controls("Text")
    first.value = "0.5"
    assert screen.line == 'Stored: q03_numbers = {"top_kept": 0.5, "any_kept": ...} (1 of 2 so far)'
    second.value = "half"
    assert screen.record["answer"] == {"top_kept": 0.5}
    second.value = "5.8e-1"
    assert notebook["q03_numbers"] == {"top_kept": 0.5, "any_kept": 0.58}
    assert screen.record["answer"] == {"top_kept": 0.5, "any_kept": 0.58}


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("2,260,992", 2260992), (" 7 ", 7), ("１２", 12), ("-3", -3), ("1e6", 1e6), ("0.5", 0.5),
        ("", None), ("ten", None), ("1 GB", None), ("__import__('os')", None),
    ],
)  # fmt: skip
def test_numbers_as_people_type_them(typed, number):
    assert number_in(typed) == number


def test_a_restart_brings_the_answers_back(screen):
    asked("q02")
    for box in screen.controls("Checkbox")[:3]:
        box.value = True
    again = asked("q02")
    assert again["q02"] == "A B C" and screen.line == 'Stored: q02 = "A B C"'
    assert [box.value for box in screen.controls("Checkbox")] == [True] * 3 + [False] * 2
    other = asked("q02", student_id="b2")
    assert other["q02"] is ... and screen.record is None


def test_a_notebook_that_comes_alone_brings_its_answers(screen, tmp_path, monkeypatch):
    asked("q02")
    screen.controls("Checkbox")[1].value = True
    cells = [{"cell_type": "markdown"}, {"outputs": screen.outputs}, {"outputs": "none"}, 7]
    (tmp_path / "lab.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / FILE_NAME).unlink()
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "lab.ipynb"))
    assert asked("q02")["q02"] == "B"


NONSENSE = ["", "{", "[]", '{"b1": 3}', '{"b1": {"q02": ["A"]}}', "[" * 10**5]


@pytest.mark.parametrize("content", NONSENSE)
def test_a_file_that_makes_no_sense_is_not_there(screen, tmp_path, content):
    (tmp_path / FILE_NAME).write_text(content)
    (tmp_path / "lab.ipynb").write_text(content)
    notebook = asked("q02")
    assert notebook["q02"] is ...
    screen.controls("Checkbox")[0].value = True
    assert asked("q02")["q02"] == "A"


def test_a_folder_that_cannot_be_written_to_does_not_matter(screen, tmp_path):
    notebook = {**ME, "q02": ...}
    Asker(notebook, tmp_path / "nowhere")("q02", ...)
    screen.controls("Checkbox")[0].value = True
    assert notebook["q02"] == "A" and screen.record["answer"] == "A"


def test_what_the_cell_says_counts_until_something_else_is_clicked(screen):
    notebook = asked("q02", "e, c, a")
    assert notebook["q02"] == "e, c, a" and screen.record is None
    assert screen.line == 'The cell says: q02 = "e, c, a"'
    boxes = screen.controls("Checkbox")
    boxes[0].value = True
    assert screen.line.startswith("answered twice: the cell says e, c, a, and you clicked A.")
    assert notebook["q02"] == {"written": "e, c, a", "clicked": "A"}
    boxes[2].value = boxes[4].value = True
    assert notebook["q02"] == "e, c, a" and screen.line == 'Stored: q02 = "A C E"'


def test_one_number_may_be_typed_and_the_other_clicked(screen):
    notebook = asked("q03_numbers", {"top_kept": 4 / 7, "any_kept": ...})
    top, rest = screen.controls("Text")
    rest.value = "0.58"
    assert notebook["q03_numbers"] == {"top_kept": 4 / 7, "any_kept": 0.58}
    assert screen.line == 'Stored: q03_numbers = {"top_kept": ..., "any_kept": 0.58}'
    top.value = "0.571"
    assert notebook["q03_numbers"] == {"top_kept": 4 / 7, "any_kept": 0.58}
    top.value = "0.5"
    assert screen.line.startswith("answered twice")


def test_numbers_in_the_cell_are_shown_as_they_stand(screen):
    asked("q02_numbers", {"factor": 1.75})
    assert screen.line == "The cell says: q02_numbers = {'factor': 1.75}"


def test_clear_takes_everything_back(screen, tmp_path):
    for name in ("q02", "q01", "q03_numbers"):
        notebook = asked(name)
        values = {"Checkbox": True, "Dropdown": "B", "Text": "3"}
        (control, value), *_ = ((c, values[kind]) for kind in values for c in screen.controls(kind))
        control.value = value
        assert screen.record is not None
        screen.controls("Button")[0].click()
        assert screen.record is None and notebook[name] is ...
        assert json.loads((tmp_path / FILE_NAME).read_text()) == {"b1": {}}
        assert not control.value


STRANGE = (..., "A", 10**5000, object(), {"written": 1}, [[]], float("nan"))


@pytest.mark.parametrize("name", ["q02", "q01", "q16_numbers", "q99", "", None, 7, ["q02"]])
@pytest.mark.parametrize("front_end", [True, False])
def test_ask_never_raises(screen, monkeypatch, name, front_end):
    monkeypatch.setattr(papers_widget, "has_widgets", lambda: front_end)
    for written in STRANGE:
        for student_id in ("b1", "", ..., 7, None, "x" * 10**5, "\ud800"):
            Asker({"student_id": student_id, "language": "zh"})(name, written)
        Asker({"student_id": "b1", "language": 3})(name, written)
        Asker({})(name, written)


def test_without_an_id_it_asks_for_one(screen, capsys):
    Asker({"student_id": ..., "language": "zh"})("q02", ...)
    assert "學號" in capsys.readouterr().out and screen.outputs == []


def test_without_widgets_the_question_is_text():
    """In a Python that has neither ipywidgets nor IPython."""
    code = (
        "import sys; sys.modules.update(ipywidgets=None, IPython=None);"
        "from labkit.labs.papers.widget import Asker;"
        "names = {'student_id': 'b1', 'language': 'en', 'q02': 'A C E'};"
        "Asker(names)('q02', 'A C E'); print(names['q02'])"
    )
    command = [sys.executable, "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for letter, option in options_for(items()["q02"], "b1").items():
        assert f"- **{letter}** {items()['q02'].options['en'][option]}" in shown
    assert shown.endswith('The cell says: q02 = "A C E"\nA C E\n')


def test_the_summary_has_a_line_for_every_answer(capsys):
    Asker({**ME, "q02": "A C E", "q05": "A B"}).summary()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 30
    assert lines[1] == "q02          A C E, 3 of 3 letters; marked when you hand it in."
    assert lines[0] == "q01          the notebook does not define `q01`."


def test_every_question_is_text_in_both_languages():
    for item in items().values():
        for language in ("en", "zh"):
            for name in item.answers:
                text = Question(item, name, "b1", language).as_markdown()
                assert text.startswith(f"**{item.id.upper()} · {item.title[language]}")
                assert "<script" not in as_html(text)
    assert as_html("a\n\n```\nx < y\n```\nb `c`") == (
        '<p style="margin:0.4em 0">a</p><pre style="line-height:1.3">x &lt; y\n</pre>'
        '<p style="margin:0.4em 0">b <code>c</code></p>'
    )


def test_reasons_are_shown_once_they_are_there_and_the_answer_is(screen, monkeypatch):
    assert explained(items()["q05"]) is None
    options = items()["q05"].options["en"]
    key = {"right": ["top-k"], "en": {"why": dict.fromkeys(options, "Because <of this>.")}}
    monkeypatch.setattr("labkit.labs.papers.text.explained", lambda item: key)
    asked("q05")
    why = screen.controls("HTML")[-1]
    assert why.value == ""
    screen.controls("Checkbox")[0].value = True
    assert why.value.count("Because &lt;of this&gt;.") == len(options)
    assert why.value.count("✓") == 1


def test_outside_a_notebook_there_is_none(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert this_notebook() is None
