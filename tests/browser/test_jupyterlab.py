"""Every lab in JupyterLab, in a real browser: every cell runs, figures and widgets are there.

The solved editions run against the student's labkit, in which this lab's answers are blanked, so
nothing a student needs can depend on them. Experiments are small, unless --large asks for those of
the notebook. Screenshots go to build/browser.
"""

import re

import pytest
from lab_pages import close, picture

from autograder.builder.source import find_lab, read_labs
from autograder.proof.cheats import code_cell, solved_notebook

FIRST_CELL = """\
def small(profile):
    from dataclasses import replace

    return replace(
        profile,
        input_lengths=(1, 4, 16, 64),
        output_lengths=(1, 4, 16),
        forward_batch_sizes=(1, 2),
        cache_lengths=(1, 4, 16),
        long_prompt_length=256,
        long_uncached_lengths=(1, 2),
        n_repeats=2,
    )


import labkit
assert labkit.__file__.startswith(__import__("os").getcwd())
"""
FLASH = "labkit.labs.flash_attention.experiments"
SMALLER = {
    "02_throughput": {
        "short(profile())": "short(small(profile()))",
        "point_s=2.0": "point_s=0.2",
    },
    "03_cache_benchmark": {
        "here = profile()": "here = small(profile())",
        "else (64, 2)": "else (16, 0.2)",
    },
    "04_kv_cache": {"n_repeats=7": "n_repeats=2"},
    "05_batching": {
        "n, rng = 200 * n_slots": "n, rng = 20 * n_slots",
        "exponential_lengths(3200, 30": "exponential_lengths(320, 30",
        "exponential_lengths(500, 200, rng)": "exponential_lengths(50, 200, rng)",
    },
    "06_speculative": {
        "here = profile()": "here = small(profile())",
        '("tiny",), n_samples=1, n_per_source=3': '("tiny",), (2,), n_samples=1, n_per_source=1',
        "extreme, (2, 7)": "extreme, (2,)",
        '"gammas": (1, 2, 4, 7, 10), "lengths": (64,)': '"gammas": (1, 4), "lengths": (16,)',
    },
    "07_flash_attention": {
        "sdpa(here, ": f"sdpa(here, {FLASH}.Sizes((128, 512), 2, (64,), 1), ",
    },
}


def with_small_experiments(lab, notebook):
    """The notebook with cheaper settings, each in the one place where it stands."""
    for old, new in SMALLER.get(lab.name, {}).items():
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
    close(page)
