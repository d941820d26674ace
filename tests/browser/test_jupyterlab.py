"""Labs in JupyterLab, in a real browser: one in full, and the widgets of all.

That the other cells of every lab run is shown by tests/notebooks. Screenshots go to build/browser.
"""

import ast

import pytest
from lab_pages import beyond_their_cells, close, picture
from play import FIRST_CELL, with_small_experiments

from autograder.builder.notebooks import cell_kind
from autograder.builder.source import find_lab, read_labs
from autograder.names import assigned_names
from autograder.proof.cheats import code_cell, solved_notebook

IN_FULL = find_lab("memory")


def widget_names(setup):
    """The names by which the given cell calls the lab's widgets: functions, or their module."""
    imports = [node for node in ast.parse(setup).body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name
        for node in imports
        for alias in node.names
        if node.module.split(".")[-1].startswith("widget") or alias.name.startswith("widget")
    }


def used_names(source):
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def with_widgets_only(lab):
    """A solved notebook of the experiments that call a widget, and of what those need."""
    notebook = with_small_experiments(lab.topic, solved_notebook(lab))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    setup = next(cell for cell in cells if cell_kind(cell) == "given")
    calls, wanted, kept = widget_names(setup["source"]), set(), []
    for cell in reversed(cells):
        source, kind = cell["source"], cell_kind(cell)
        is_needed = kind in ("given", "exercise")
        if kind == "experiment":
            is_needed = bool(calls & used_names(source) or wanted & assigned_names(source))
        if is_needed:
            kept.append(cell)
            wanted |= used_names(source)
    notebook["cells"] = [code_cell(FIRST_CELL), *kept[::-1]]
    return notebook


def has_widgets(lab):
    """Whether an experiment of the lab calls a widget."""
    setup, *others = [cell for cell in lab.cells if cell.kind in ("given", "experiment")]
    calls = widget_names(setup.text)
    return any(calls & used_names(cell.text) for cell in others)


def errors_on(page):
    return page.locator(".jp-OutputArea-output[data-mime-type*=error]").all_text_contents()


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


@pytest.mark.parametrize("lab", [IN_FULL], ids=lambda lab: lab.name)
def test_a_lab_runs_from_top_to_bottom(lab_server, browser, screenshots, lab):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    path = lab_server.put(lab, solved_notebook(lab), lab.name, lab.name)
    lab_server.run_all(page, path)
    picture(page, screenshots / f"{lab.name}.png")
    assert errors_on(page) == []
    assert page.locator(".jp-OutputArea img").count() > 0
    shown = page.locator(".jp-OutputArea").all_text_contents()
    cards = [text for text in shown if text.count("points on the visible tests") == 1]
    assert len(cards) == len(lab.marked)  # check.all() shows them all once more
    move_a_slider(page, screenshots / "calculator.png")
    close(page)


@pytest.mark.parametrize(
    "lab",
    [lab for lab in read_labs() if lab != IN_FULL and has_widgets(lab)],
    ids=lambda lab: lab.name,
)
def test_widgets_appear(lab_server, browser, screenshots, lab):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    path = lab_server.put(lab, with_widgets_only(lab), f"{lab.name}-widgets", lab.name)
    lab_server.run_all(page, path)
    picture(page, screenshots / f"{lab.name}-widgets.png")
    assert errors_on(page) == []
    assert page.locator(".jupyter-widgets").count() > 0
    picture(page, screenshots / f"{lab.name}-widgets-900.png", width=900)
    assert beyond_their_cells(page, ".jp-OutputArea-output .jupyter-widgets") == []
    close(page)
