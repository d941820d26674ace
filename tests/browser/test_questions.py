"""Lab 8 in JupyterLab: questions appear below their cells, and each check says what it reads.

With --large, screenshots in both languages and themes go to build/browser.
"""

import json

import pytest
from instances import some_of
from lab_pages import beyond_their_cells, close, errors_on, picture
from test_accessibility import NARROW, THEMES, WIDTHS, look

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.practice import cell_called

LAB = find_lab("papers")
ASKED = ("q02", "q02_numbers", "q06", "q14", "q16_numbers")
SHOWN = ("setup", "student_id", *(part for name in ASKED for part in (name, f"check_{name}")))
WRITTEN = {
    "student_id = ...": 'student_id = "b12901001"',
    "q02 = ...": 'q02 = "A C E"',
    "q06 = ...": 'q06 = "C A B Z E D"',
    '"instead": ..., "tile_kv": ..., ': '"instead": 3, "tile_kv": 64 * 3, ',
}
SAID = {
    "en": ("A C E, 3 of 3 letters", "`factor`", "there is no option Z; they end with F",
           "not answered yet", "`reads` is not filled in yet"),
    "zh": ("A C E，3 個字母都有了", "尚未作答", "沒有選項 Z，最後一個選項是 F", "`reads` 尚未填寫"),
}  # fmt: skip


def answered(language):
    """The student's notebook with some of its questions, an id and some answers."""
    notebook = json.loads(json.dumps(build_notebook(LAB, "student")))
    notebook["cells"] = [cell_called(notebook, name) for name in SHOWN]
    for cell in notebook["cells"]:
        for blank, answer in {**WRITTEN, "language = ...": f'language = "{language}"'}.items():
            cell["source"] = cell["source"].replace(blank, answer)
    return notebook


@pytest.mark.parametrize("language", some_of(SAID, "zh"))
def test_questions_stand_below_their_cells_and_fit_the_page(lab_server, browser, shoot, language):
    page = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
    lab_server.run_all(page, lab_server.put(LAB, answered(language), language, "questions"))
    assert errors_on(page) == []
    questions = page.locator(".jp-OutputArea-output.jp-RenderedMarkdown")
    assert questions.count() == len(ASKED)
    assert questions.nth(0).locator("li strong").all_text_contents() == list("ABCDE")
    reports = " ".join(page.locator(".jp-OutputArea-output.jp-RenderedHTML").all_inner_texts())
    for said in SAID[language]:
        assert said.replace("`", "") in reports
    for theme in THEMES:
        for width in (each for each in WIDTHS if each > NARROW):
            look(page, width, THEMES[theme])
            assert beyond_their_cells(page, ".jp-OutputArea-output") == []
            picture(page, shoot, f"questions-{language}-{theme}-{width}.png", width)
    close(page)
