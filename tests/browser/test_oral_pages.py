"""The pages of `autograder oral` in a browser: for everybody, at three widths, and on paper."""

import pytest
from axe_rules import RULES, keeps_the_rules
from instances import crossed

from autograder.builder.source import find_lab
from autograder.judging.asking.sheet import BLANK, CHANGE, LINE, SWAP, TRACE, Question, Sheet
from autograder.oral.pages import write_pages

LAB = find_lab("04_kv_cache")
WIDTHS = (1280, 900, 390)
STRICT = {"runOnly": [*RULES["runOnly"], "best-practice"]}
LONG = "a_name_of_this_student_" * 6
CODE = "\n".join(f"{i:>3}  {'    ' * (i > 1)}{LONG[:60]} = {i}  # why" for i in range(1, 40))
CLAIMS = tuple(f"Claim {i} says that `append` keeps what the cache held before." for i in range(4))
SHEET = Sheet(
    (
        Question("GrowingCache", LINE, 3, "Line 3 is left out. Then one of these claims fails. "
                 "Which one?", CLAIMS, 1, f"{LONG} = 3", "Its check says: expected 3, got 4."),
        Question("GrowingCache", CHANGE, 4, f"Line 4 is changed. What does `f({LONG[:50]})` "
                 "return then?", ("1", "2", LONG[:48]), 2, "x = 1\n# changed to:\nx = 2"),
        Question("generate", TRACE, 5, "Somebody calls `generate(3)`. Stop when the line of "
                 "`generate` that sets `n` (line 5) has finished. What is `n` at that moment?",
                 ("1", "2", "3"), 0),
        Question("generate", SWAP, 6, "Two lines change places. After which of these swaps do all "
                 "checks still pass?", ("lines 6 and 7", "lines 8 and 9"), 0),
    ),
    (("GrowingCache", CODE), ("generate", CODE)),
)  # fmt: skip
OPEN = Question(
    "rotate", BLANK, 0, "A claim about `rotate` is: it turns. Give a call.", why="Turn."
)
SHEETS = {
    "ann": SHEET, f"bob {LONG}": Sheet((OPEN,), (), 0.0, "Nothing of this lab passes yet."),
    "陳" * 80: SHEET, "עדי כהן": SHEET,
}  # fmt: skip
PAGES = {"class": "index", "sheet": "sheets/ann", "key": "keys/ann", "rtl": "sheets/עדי כהן"}
TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll('.scroll, pre')]
    .filter(part => part.scrollWidth > part.clientWidth).map(part => part.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_pages(tmp_path_factory.mktemp("oral"), LAB, SHEETS, {}).parent


@pytest.mark.parametrize(("width", "theme"), crossed(WIDTHS, ("light", "dark"), n_shown=1))
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody_at_each_width(browser, shoot, folder, name, width, theme):
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
    page.goto((folder / f"{PAGES[name]}.html").as_uri())
    shoot(page, f"oral-{name}-{theme}-{width}.png", full_page=True)
    keeps_the_rules(page, rules=STRICT)
    assert page.evaluate(TOO_WIDE) == []
    page.close()


@pytest.mark.parametrize("name", ["sheet", "key"])
def test_a_question_stands_on_one_sheet_of_white_paper(browser, folder, name):
    page = browser.new_page(color_scheme="dark")
    page.goto((folder / f"{PAGES[name]}.html").as_uri())
    page.emulate_media(media="print")
    cut = "() => [...document.querySelectorAll('.box')].map(e => getComputedStyle(e).breakInside)"
    assert {*page.evaluate(cut)} == {"avoid"}
    paper = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.close()
