"""Lab 8 in JupyterLab: what is clicked stands in the saved notebook, and the grader reads it.

Screenshots of the questions in both languages go to build/browser with --large.
"""

import json
import time

from lab_pages import close, picture

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.intake.master import read_master
from autograder.intake.read import read_notebook
from autograder.labs.papers.stored_answers import with_stored_answers
from autograder.practice import cell_called

LAB = find_lab("papers")
SHOWN = ("setup", "student_id", "q02", "check_q02", "q02_numbers", "check_q02_numbers", "q06")


def few_cells(language):
    """The student's notebook with some of its questions, and an id."""
    notebook = json.loads(json.dumps(build_notebook(LAB, "student")))
    notebook["cells"] = [cell_called(notebook, name) for name in SHOWN]
    identity = f'student_id = "b12901001"\nlanguage = "{language}"'
    cell_called(notebook, "student_id")["source"] = identity
    return notebook


def click_answers(page):
    """Three boxes, the first number, and an order."""
    boxes = page.locator(".widget-checkbox input")
    for i in (0, 2, 4):
        boxes.nth(i).click()
    page.locator(".widget-text input").first.fill("1.75")
    menus = page.locator(".widget-dropdown select")
    for i, letter in enumerate("CABFED"):
        menus.nth(i).select_option(label=letter)
    page.wait_for_timeout(1000)


def saved(page, path):
    """The notebook on disk once it has been saved."""
    before = path.stat().st_mtime_ns
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    end = time.monotonic() + 30
    while path.stat().st_mtime_ns == before and time.monotonic() < end:
        page.wait_for_timeout(200)
    return path.read_bytes()


def test_clicks_are_in_the_saved_notebook_and_survive_a_restart(lab_server, browser, shoot):
    master = read_master(build_notebook(LAB, "student"), LAB.name)
    expected = {
        "q02": 'q02 = "A C E"',
        "q02_numbers": 'q02_numbers = {"factor": 1.75}',
        "q06": 'q06 = "C A B F E D"',
    }
    for language in ("en", "zh"):
        path = lab_server.put(LAB, few_cells(language), language, "clicked")
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        lab_server.run_all(page, path)
        page.wait_for_selector(".widget-dropdown >> nth=5")
        page.wait_for_timeout(500)
        if language == "en":
            click_answers(page)
        cells, notes = with_stored_answers(master, read_notebook(saved(page, path), path.name))
        lines = {cell.source.split("\n")[0] for cell in cells}
        assert set(expected.values()) <= lines, notes
        shown = page.locator(".jp-OutputArea").all_text_contents()
        assert any('q02 = "A C E"' in text for text in shown)
        picture(page, shoot, f"papers_{language}.png", width=1100)
        close(page)
