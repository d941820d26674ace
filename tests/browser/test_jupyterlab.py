"""Every lab in JupyterLab, in a real browser: every cell runs, figures and widgets are there.

The solved editions run against the student's labkit, in which this lab's answers are blanked, so
nothing a student needs can depend on them. Experiments are small, unless --large asks for those of
the notebook. Screenshots go to build/browser.
"""

import json
import re
from pathlib import Path

import pytest
from lab_pages import close, picture

from autograder.builder.source import REPOSITORY, read_labs
from autograder.proof.cheats import code_cell, solved_notebook

LABS = Path(__file__).parent.parent / "labs"
FIRST_CELL = """\
def small(profile):
    from dataclasses import replace

    return replace(
        profile,
        sweep_batch_size=1,
        input_lengths=(1, 16, 64),
        output_lengths=(1, 4, 16),
        forward_batch_sizes=(1, 2),
        cache_lengths=(1, 4, 16),
        long_prompt_length=64,
        long_uncached_lengths=(1, 2),
        n_repeats=1,
    )


import labkit
assert labkit.__file__.startswith(__import__("os").getcwd())
"""


def with_small_experiments(lab, notebook):
    """The notebook with the cheaper settings of its lab, each in the one place where it stands."""
    path = LABS / lab.topic / "smaller.json"
    smaller = json.loads(path.read_text()) if path.exists() else {}
    for old, new in smaller.items():
        (cell,) = [cell for cell in notebook["cells"] if old in cell["source"]]
        cell["source"] = cell["source"].replace(old, new)
    return notebook


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


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_every_cell_runs_and_figures_checks_and_widgets_work(
    lab_server, browser, screenshots, lab, request
):
    notebook = solved_notebook(lab)
    notebook["cells"].insert(0, code_cell(FIRST_CELL))
    if not request.config.getoption("--large"):
        notebook = with_small_experiments(lab, notebook)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    lab_server.run_all(page, lab_server.put(lab, notebook, lab.name, lab.name))
    picture(page, screenshots / f"{lab.name}.png")
    errors = page.locator(".jp-OutputArea-output[data-mime-type*=error]").all_text_contents()
    assert errors == []
    draws = [REPOSITORY / f"labkit/labs/{lab.topic}/{name}.py" for name in ("figures", "widget")]
    assert page.locator(".jp-OutputArea img").count() >= any(path.exists() for path in draws)
    shown = page.locator(".jp-OutputArea").all_text_contents()
    verdicts = [text for text in shown if "points on the open cases" in text or "●" in text]
    assert len(verdicts) == len(lab.marked)
    for text in verdicts:
        points = re.search(r"([\d.]+) of ([\d.]+) points", text)
        assert points is None or points[1] == points[2], text
    if lab.topic == "memory":
        move_a_slider(page, screenshots / "calculator.png")
    close(page)
