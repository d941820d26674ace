"""Every page for staff and students keeps WCAG 2.1 AA: axe in both themes, and the keyboard alone.

docs/accessibility.md says what is tested where. Pages are taken as they are made for a class.
"""

import pytest
from axe_rules import keeps_the_rules
from desk_server import LAB as DESK_LAB
from desk_server import answers_address
from instances import crossed
from test_desk import desk, out  # noqa: F401
from test_pages import PAGES, pages  # noqa: F401

from autograder.builder.source import find_lab
from autograder.judging.asking.sheet import Question, Sheet
from autograder.oral.pages import write_pages

WIDTHS, SCHEMES = (1280, 900, 390), ("light", "dark")
LAB = find_lab("memory")
ORAL = ("sheets/amy.html", "keys/amy.html", "sheets/ben.html", "index.html")
DESK = ("/", "/shares", "/appeals", "/overview", f"/rubric/{DESK_LAB}/growth", answers_address())
FOCUSABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']"
UNREACHED = """focusable => [...document.querySelectorAll(focusable)].filter(part =>
    part.checkVisibility({visibilityProperty: true}) && !part.disabled && part.tabIndex >= 0 &&
    !part.hasAttribute('data-reached') && !(part.type === 'radio')
).map(part => part.outerHTML.slice(0, 120))"""
MARK_REACHED = """() => {
    const part = document.activeElement, again = part.hasAttribute('data-reached');
    part.setAttribute('data-reached', '');
    const style = getComputedStyle(part), ring = parseFloat(style.outlineWidth);
    const isSeen = part === document.body || (style.outlineStyle !== 'none' && ring > 0) ||
        style.boxShadow !== 'none';
    return [again, isSeen ? '' : part.outerHTML.slice(0, 120)];
}"""


@pytest.fixture(scope="module")
def oral(tmp_path_factory):
    """The sheets of one who has questions and of one who has none."""
    folder = tmp_path_factory.mktemp("oral")
    code = "def largest_model(vram_bytes):\n    left = vram_bytes\n    return left // 2"
    asked = (
        Question("largest_model", "line", 2, "Without line 2, which claim fails?",
                 ("none", "it is exact"), 1, why="`left` has no value then."),
        Question("largest_model", "trace", 3, "What is `left` there?", ("1", "2"), 0, code="x = 1"),
    )  # fmt: skip
    sheets = {
        "amy": Sheet(asked, (("largest_model", code),)),
        "ben": Sheet(problem="Nothing was handed in."),
    }
    return write_pages(folder, LAB, sheets, {}).parent


@pytest.fixture
def page(browser):
    context = browser.new_context(reduced_motion="reduce")
    yield context.new_page()
    context.close()


def look(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)


@pytest.mark.parametrize(("width", "scheme"), crossed(WIDTHS, SCHEMES))
def test_pages_of_a_grading_keep_wcag_aa(pages, page, width, scheme):  # noqa: F811
    look(page, width, scheme)
    for name in PAGES:
        page.goto(pages[name].as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        keeps_the_rules(page)


@pytest.mark.parametrize(("width", "scheme"), crossed(WIDTHS, SCHEMES))
def test_oral_sheets_keep_wcag_aa(oral, page, width, scheme):
    look(page, width, scheme)
    for name in ORAL:
        page.goto((oral / name).as_uri())
        keeps_the_rules(page)


@pytest.mark.parametrize(("width", "scheme"), crossed(WIDTHS, SCHEMES))
def test_the_desk_and_the_overview_keep_wcag_aa(desk, page, width, scheme):  # noqa: F811
    origin, people = desk
    look(page, width, scheme)
    page.goto(f"{origin}/?token={people['bea'].token}")
    for address in DESK:
        page.goto(origin + address)
        keeps_the_rules(page)


def reached_by_tab(page):
    """Go through a page by the key Tab; what it never reaches, and what shows no focus."""
    unseen, is_new = [], True
    for _ in range(600):
        page.keyboard.press("Tab")
        again, hidden = page.evaluate(MARK_REACHED)
        unseen += [hidden] if hidden else []
        if again and not is_new:
            break
        is_new = not again
    return page.evaluate(UNREACHED, FOCUSABLE), unseen


@pytest.mark.parametrize("name", ["feedback", "report", "integrity"])
def test_tab_reaches_all_that_a_page_offers_and_shows_where_it_is(pages, page, name):  # noqa: F811
    look(page, 1280, "light")
    page.goto(pages[name].as_uri())
    assert reached_by_tab(page) == ([], [])


@pytest.mark.parametrize("address", ["/", "/appeals", "/overview", answers_address()])
def test_tab_reaches_all_that_the_desk_offers(desk, page, address):  # noqa: F811
    origin, people = desk
    look(page, 1280, "light")
    page.goto(f"{origin}/?token={people['bea'].token}")
    page.goto(origin + address)
    assert reached_by_tab(page) == ([], [])


def test_a_fold_opens_by_the_keyboard(pages, page):  # noqa: F811
    look(page, 1280, "light")
    page.goto(pages["feedback"].as_uri())
    fold = page.locator("details").first
    while not fold.evaluate("part => part.contains(document.activeElement)"):
        page.keyboard.press("Tab")
    before = fold.evaluate("part => part.open")
    page.keyboard.press("Enter")
    assert fold.evaluate("part => part.open") is not before
