"""Lab 8 in JupyterLab: what is clicked stands in the saved notebook, and the grader reads it.

Screenshots of the questions in both languages go to build/browser.
"""

import json
import time

import pytest

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.builder.wheel import write_folder
from autograder.cheats import cell_called
from autograder.master import read_master
from autograder.read import read_notebook
from autograder.stored_answers import with_stored_answers

LAB = find_lab("papers")
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # keep all cells attached
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
SHOWN = ("setup", "student_id", "q02", "check_q02", "q02_numbers", "check_q02_numbers", "q06")
RUN_TIMEOUT_MS = 120_000


def few_cells(language):
    """The student's notebook with some of its questions, and an id."""
    notebook = json.loads(json.dumps(build_notebook(LAB, "student")))
    notebook["cells"] = [cell_called(notebook, name) for name in SHOWN]
    identity = f'student_id = "b12901001"\nlanguage = "{language}"'
    cell_called(notebook, "student_id")["source"] = identity
    return notebook


@pytest.fixture
def folder(tmp_path):
    """Notebooks in both languages, and the labkit of the lab's students."""
    settings = tmp_path / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    for language in ("en", "zh"):
        (notebooks / f"{language}.ipynb").write_text(json.dumps(few_cells(language)))
    write_folder(LAB, tmp_path / "student")
    return tmp_path


def run_all(page, address, name):
    """Open a notebook and run all its cells."""
    page.goto(f"{address}/lab/tree/{name}.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.evaluate(
        """async () => {
            const context = window.jupyterapp.shell.currentWidget.sessionContext;
            await context.ready;
            await context.session.kernel.info;
            window.jupyterapp.commands.execute('notebook:run-all-cells');
        }"""
    )
    page.wait_for_selector(".widget-dropdown >> nth=5", timeout=RUN_TIMEOUT_MS)
    page.wait_for_timeout(1500)


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


def picture(page, path):
    """The whole notebook in one picture."""
    panel = page.locator(".jp-WindowedPanel-outer").first
    height = panel.evaluate("panel => panel.scrollHeight")
    page.set_viewport_size({"width": 1100, "height": min(height + 200, 8000)})
    page.wait_for_timeout(500)
    page.screenshot(path=path)


def test_clicks_are_in_the_saved_notebook_and_survive_a_restart(
    jupyter, browser, folder, screenshots
):
    environment = {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": str(folder / "student"),
        "PYTHONSAFEPATH": "1",
        "OMP_NUM_THREADS": "1",
    }
    master = read_master(build_notebook(LAB, "student"), LAB.name)
    expected = {
        "q02": 'q02 = "A C E"',
        "q02_numbers": 'q02_numbers = {"factor": 1.75}',
        "q06": 'q06 = "C A B F E D"',
    }
    with jupyter(folder / "notebooks", **environment) as address:
        for language in ("en", "zh"):
            page = browser.new_page(viewport={"width": 1100, "height": 900})
            run_all(page, address, language)
            if language == "en":
                click_answers(page)
            path = folder / "notebooks" / f"{language}.ipynb"
            content = saved(page, path)
            cells, notes = with_stored_answers(master, read_notebook(content, path.name))
            lines = {cell.source.split("\n")[0] for cell in cells}
            assert set(expected.values()) <= lines, notes
            shown = page.locator(".jp-OutputArea").all_text_contents()
            assert any('q02 = "A C E"' in text for text in shown)
            picture(page, screenshots / f"papers_{language}.png")
            page.close()
