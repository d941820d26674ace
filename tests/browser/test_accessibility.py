"""What a lab shows in JupyterLab can be seen by everybody: axe finds nothing that breaks WCAG 2 AA.

On light and dark themes, on a wide and on a narrow page. Only what is ours is judged: reports of
checks, tables, figures and the pictures of players. JupyterLab's own controls are not.
"""

import json
import re
from itertools import product

import pytest
from axe_rules import keeps_the_rules
from instances import crossed
from lab_pages import beyond_their_cells, close, go_to_last_cell, picture, tab_to

from autograder.builder.source import find_lab
from autograder.places import REPOSITORY
from labkit.measuring.plots import NEGATIVE

LAB = find_lab("memory")
WIDTHS = (1280, 900, 390)  # the narrowest without the list of files, which would take half of it
NARROW = 600
HAN = re.compile("[\u4e00-\u9fff]")
WITH_CHINESE = [REPOSITORY / "docs/glossary.md", *(REPOSITORY / "data/papers").rglob("*.toml")]
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
OURS = ".jp-OutputArea-output.jp-RenderedHTML, .jp-OutputArea-output .widget-html-content"
CHANGE_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
IS_SHOWN = "theme => document.body.dataset.jpThemeName === theme"
DRAWN = """text => [...text].map(character => {
    const paper = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    paper.font = '24px sans-serif';
    paper.fillText(character, 0, 40);
    return String(paper.getImageData(0, 0, 40, 60).data);
})"""
PICTURES = """ours => [...document.querySelectorAll(ours)].flatMap(root =>
    [...root.querySelectorAll('img')].map(image => image.alt))"""
HAS_SLIDERS = "() => !!document.querySelector('.jp-mod-active .noUi-handle')"
SCROLLING = """() => [...document.querySelectorAll('a[tabindex] > table')].map(
    table => table.parentElement).filter(box => box.scrollWidth > box.clientWidth + 1).map(
    box => box.textContent.slice(0, 80))"""
FILTERS = """() => [...document.querySelectorAll('.labkit-picture')].map(
    picture => getComputedStyle(picture).filter)"""


def look(page, width, theme):
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(
        f"() => window.jupyterapp.shell.{'collapse' if width < NARROW else 'expand'}Left()"
    )
    page.evaluate(CHANGE_THEME, theme)
    page.wait_for_function(IS_SHOWN, arg=theme)
    page.wait_for_timeout(1000)


@pytest.mark.parametrize(("width", "theme"), crossed(WIDTHS, THEMES))
def test_nothing_of_ours_breaks_wcag_aa(lab_page, shoot, theme, width):
    page = lab_page
    look(page, width, THEMES[theme])
    picture(page, shoot, f"{LAB.name}-{theme}-{width}.png", width)
    keeps_the_rules(page, OURS)
    assert beyond_their_cells(page, OURS) == []
    assert width < NARROW or page.evaluate(SCROLLING) == []
    assert {*page.evaluate(FILTERS)} == {NEGATIVE if theme == "dark" else "none"}
    alts = page.evaluate(PICTURES, OURS)
    assert len(alts) >= 2
    assert all(len(alt) > 20 for alt in alts)


def test_a_notebook_without_trust_keeps_wcag_aa(lab_page, lab_server, browser):
    """JupyterLab takes scripts and styles out of the outputs of a file that it did not run."""
    lab_page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    notebook = json.loads((lab_server.folder / LAB.name / f"{LAB.name}.ipynb").read_text())
    (first, *_) = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    first["source"] = ["# another file: nobody has signed it\n", *first["source"]]
    assert sum(len(cell.get("outputs", [])) for cell in notebook["cells"]) > 10
    path = lab_server.put_alone(notebook, "without_trust")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{lab_server.address}/lab/tree/{path.name}?reset")
    page.wait_for_selector(OURS.partition(",")[0], timeout=60_000)
    trusted = "window.jupyterapp.shell.currentWidget.content.model.cells.get(1).trusted"
    assert page.evaluate(f"() => {trusted}") is False
    for width, theme in product(WIDTHS, THEMES.values()):
        look(page, width, theme)
        keeps_the_rules(page, OURS)
    close(page)


def test_keys_alone_write_the_report_and_move_a_slider(lab_page):
    """From the last cell, where "Run all" ends: K goes up, Tab goes into what a cell shows."""
    page = lab_page
    look(page, 1280, THEMES["light"])
    go_to_last_cell(page)
    tab_to(page, ".jupyter-button")
    page.keyboard.press("Enter")
    page.get_by_text("is written.").wait_for(timeout=60_000)
    tab_to(page, "a[href$='.html']")

    while not page.evaluate(HAS_SLIDERS):
        page.keyboard.press("Escape")
        page.keyboard.press("k")
    box = page.locator(".jp-mod-active .jupyter-widgets.widget-container").first
    before = box.inner_html()
    tab_to(page, ".noUi-handle")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("([box, before]) => box.innerHTML !== before",
                           arg=[box.element_handle(), before])  # fmt: skip


def test_each_chinese_character_of_the_labs_is_drawn_and_is_no_empty_box(browser):
    text = "".join(path.read_text(encoding="utf-8") for path in WITH_CHINESE)
    characters = sorted(set(HAN.findall(text)))
    assert len(characters) > 300
    page = browser.new_page()
    drawn = page.evaluate(DRAWN, "".join(characters))
    page.close()
    assert len(set(drawn)) == len(characters)
