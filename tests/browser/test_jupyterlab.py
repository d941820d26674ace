"""Every lab in JupyterLab, in a real browser: every cell runs, figures and widgets are there.

The solved editions run against the student's labkit, in which this lab's answers are blanked, so
nothing a student needs can depend on them. Screenshots go to build/browser.
"""

import json
import re

import pytest

from autograder.builder.source import find_lab, read_labs
from autograder.builder.wheel import write_folder
from autograder.cheats import solved_notebook

SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # keep all cells attached
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
RUN_TIMEOUT_MS = 480_000  # lab 6 takes 45 s on a quiet machine, and not all are


@pytest.fixture(params=read_labs(), ids=lambda lab: lab.name)
def lab(request):
    """Each lab of the course."""
    return request.param


@pytest.fixture
def address(jupyter, tmp_path, lab):
    """JupyterLab on the solved notebook, with nobody's labkit but that of the lab's students."""
    settings = tmp_path / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    (notebooks / f"{lab.name}.ipynb").write_text(json.dumps(solved_notebook(lab)))
    write_folder(lab, tmp_path / "student")
    with jupyter(
        notebooks,
        JUPYTER_CONFIG_DIR=str(tmp_path / "config"),
        PYTHONPATH=str(tmp_path / "student"),
        PYTHONSAFEPATH="1",
        OMP_NUM_THREADS="1",  # threads that wait for each other on busy cores take minutes
    ) as address:
        yield address


def run_all(page, address, lab_name):
    """Open a notebook, run all cells, wait until none is running."""
    page.goto(f"{address}/lab/tree/{lab_name}.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.evaluate(
        """async () => {
            const context = window.jupyterapp.shell.currentWidget.sessionContext;
            await context.ready;
            await context.session.kernel.info;
            window.jupyterapp.commands.execute('notebook:run-all-cells');
        }"""
    )
    page.wait_for_function(
        """() => {
            const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
            const texts = prompts.map(prompt => prompt.textContent);
            return texts.length > 0 && texts.every(text => /\\[\\d+\\]/.test(text));
        }""",
        timeout=RUN_TIMEOUT_MS,
    )


def picture(page, path):
    """The whole notebook in one picture."""
    panel = page.locator(".jp-WindowedPanel-outer").first
    height = panel.evaluate("panel => panel.scrollHeight")
    page.set_viewport_size({"width": 1200, "height": min(height + 200, 16_000)})
    page.wait_for_timeout(500)
    panel.evaluate("panel => panel.scrollTo(0, 0)")
    page.wait_for_timeout(500)
    page.screenshot(path=path)
    page.set_viewport_size({"width": 1200, "height": 900})


def move_a_slider(page, path):
    """The calculator redraws when a slider moves."""
    widget = page.locator(".jupyter-widgets.widget-container").first
    widget.scroll_into_view_if_needed()
    before = widget.inner_html()
    widget.locator(".noUi-handle").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(2000)
    assert widget.inner_html() != before
    page.screenshot(path=path)


def test_every_cell_runs_and_figures_checks_and_widgets_work(address, browser, screenshots, lab):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    run_all(page, address, lab.name)
    page.wait_for_timeout(1000)
    picture(page, screenshots / f"{lab.name}.png")
    errors = page.locator(".jp-OutputArea-output[data-mime-type*=error]").all_text_contents()
    assert errors == []
    assert page.locator(".jp-OutputArea img").count() >= 1
    shown = page.locator(".jp-OutputArea").all_text_contents()
    said = "●" if lab == find_lab("papers") else "points on the open cases"
    verdicts = [text for text in shown if said in text]
    assert len(verdicts) == len(lab.marked)
    for text in verdicts:
        points = re.search(r"([\d.]+) of ([\d.]+) points", text)
        assert points is None or points[1] == points[2], text
    if lab == find_lab("memory"):
        move_a_slider(page, screenshots / "calculator.png")
    page.close()
