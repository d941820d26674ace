"""A lab in full in JupyterLab, in a real browser, and the players of labs.

That the other cells of every lab run is shown by tests/notebooks. With --large, screenshots go to
build/browser.
"""

import pytest
from instances import shown_labs, some_of
from lab_pages import (
    ALL_RAN,
    beyond_their_cells,
    close,
    errors_on,
    go_to_last_cell,
    picture,
    tab_to,
)
from nbformat.v4 import new_code_cell, new_notebook

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.practice import solved_notebook
from labkit.labs.show import players

LAB = find_lab("memory")
DEMOS = players()
CONTROLS = {  # JupyterLab itself takes arrows and letters on a menu that is closed
    "select": ("Space", "ArrowDown", "Enter"), ".noUi-handle": ("ArrowRight",),
    "input[type=checkbox]": ("Space",), ".widget-play button": ("Enter",),
}  # fmt: skip
IS_AT_END = "() => document.activeElement.selectedIndex === document.activeElement.length - 1"
STATE = """box => [box.innerHTML, ...[...box.querySelectorAll('select, input')].map(
    part => [part.selectedIndex, part.checked])].join()"""
SHOWN = [lab.topic for lab in shown_labs() if lab.topic in DEMOS]


def move_a_slider(page):
    """The calculator redraws when a slider moves."""
    widget = page.locator(".jupyter-widgets.widget-container").first
    widget.scroll_into_view_if_needed()
    before = widget.inner_html()
    widget.locator(".noUi-handle").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(2000)
    assert widget.inner_html() != before


def test_an_error_ends_the_wait_and_is_seen(lab_server, browser):
    """Even one that shows its sentence without a traceback, as that of the first cell."""
    notebook = build_notebook(LAB, "student")
    stops = "class Stop(Exception):\n    def _render_traceback_(self):\n        return ['end']"
    notebook.cells = [new_code_cell(f"{stops}\nraise Stop('why')"), new_code_cell("1")]
    page = browser.new_page()
    lab_server.run_all(page, lab_server.put(LAB, notebook, "stopped", "stopped"), 60_000)
    assert errors_on(page) == ["Stop: why"]
    close(page)


def test_a_lab_runs_from_top_to_bottom(lab_page, shoot):
    page = lab_page
    picture(page, shoot, f"{LAB.name}.png")
    assert errors_on(page) == []
    assert page.locator(".jp-OutputArea img").count() > 0
    shown = page.locator(".jp-OutputArea").all_text_contents()
    cards = [text for text in shown if text.count("points on the visible tests") == 1]
    assert len(cards) == len(LAB.marked)  # check.all() shows them all once more
    move_a_slider(page)
    shoot(page, "calculator.png")


def test_run_all_on_an_untouched_lab_leaves_no_cell_out(lab_server, browser, shoot):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    notebook = build_notebook(LAB, "student")
    lab_server.run_all(page, lab_server.put(LAB, notebook, "untouched", "untouched"))
    assert errors_on(page) == [] and page.evaluate(ALL_RAN)
    shown = page.locator(".jp-OutputArea").all_text_contents()
    n_waiting = sum("This cell waits for" in text for text in shown)
    assert n_waiting > 0
    assert any(f"{n_waiting} cells wait for what is not written yet" in text for text in shown)
    picture(page, shoot, "untouched.png")
    close(page)


@pytest.mark.parametrize(
    ("topics", "more_than"),
    [(SHOWN, 1), pytest.param([*DEMOS], 5, marks=pytest.mark.slow)],
    ids=["shown", "all"],
)
def test_players_appear_and_fit(lab_server, browser, shoot, topics, more_than):
    """On the kit's own answers. That a lab's cells make the player of the student's is shown there.

    One notebook holds them all: to start a kernel and a page takes longer than to draw them. In a
    box, a player draws no moments for viewers that know no widgets; the web site has those.
    """
    show = "from ipywidgets import VBox\nfrom {} import demo\nVBox([demo()])"
    cells = [new_code_cell(show.format(DEMOS[topic].__module__)) for topic in topics]
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    notebook = new_notebook(cells=cells, metadata=solved_notebook(LAB)["metadata"])
    lab_server.run_all(page, lab_server.put_alone(notebook, "players"))
    picture(page, shoot, "players.png")
    assert errors_on(page) == []
    assert (
        page.locator(".jp-OutputArea-output > .jupyter-widgets").count() == len(cells) > more_than
    )
    picture(page, shoot, "players-900.png", width=900)
    assert beyond_their_cells(page, ".jp-OutputArea-output .jupyter-widgets") == []
    close(page)


@pytest.mark.parametrize("topic", some_of(DEMOS, "kv_cache"))
def test_keys_alone_move_all_that_a_player_offers(lab_server, browser, topic):
    """Each kind of control by Tab, then by the keys that such controls have everywhere."""
    show = f"from {DEMOS[topic].__module__} import demo\ndemo()"
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    notebook = new_notebook(cells=[new_code_cell(show)], metadata=solved_notebook(LAB)["metadata"])
    lab_server.run_all(page, lab_server.put_alone(notebook, f"keys_{topic}"))
    go_to_last_cell(page)
    player = page.locator(".jp-OutputArea-output .jupyter-widgets").first
    kinds = [kind for kind in CONTROLS if player.locator(kind).count()]
    assert kinds
    for kind in kinds:
        before = player.evaluate(STATE)
        go_to_last_cell(page)
        tab_to(page, kind)
        is_at_end = page.evaluate(IS_AT_END)
        for key in CONTROLS[kind]:
            page.keyboard.press("ArrowUp" if key == "ArrowDown" and is_at_end else key)
        page.wait_for_function(
            f"([box, before]) => ({STATE})(box) !== before", arg=[player.element_handle(), before]
        )
    close(page)
