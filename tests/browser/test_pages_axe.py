"""Students' pages, the class report and the page to print break no rule of WCAG 2.1 AA.

With names of 80 characters, in Chinese and right to left, and a notebook that nobody wrote. What is
folded is open.
"""

import json
import time
from dataclasses import replace

import pytest
from axe_rules import keeps_the_rules
from classroom import hand_in, result, solved
from desk_server import served
from instances import crossed
from recorded import record, result_of

from autograder.builder.source import find_lab
from autograder.pages.report import write_pages
from autograder.practice import solved_notebook
from autograder.record.results import CheckResult
from labkit.checks.core import checks_of
from labkit.checks.printed.report import write_report
from labkit.checks.why.mistakes import mistakes_of

LAB = find_lab("memory")
NAMES = ("ann", "陳" * 80, "עדי כהן", "x" * 80)
WIDTHS, THEMES = (1280, 900, 390), ("light", "dark")
AT_THE_DESK, MOST_S = ("/", "/appeals", "/overview", "/next/01_memory/growth"), 20
OPEN = "() => document.querySelectorAll('details').forEach(each => each.open = true)"
IS_WIDE = "() => document.documentElement.scrollWidth > innerWidth"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The files of the pages: of a student with known mistakes, of one who wrote nothing, ..."""
    out = tmp_path_factory.mktemp("out")
    known = {each.check: each for each in reversed(mistakes_of(LAB.topic))}
    failed, blank = (
        [
            CheckResult(name, check.name, 0.0, 0.5, False, f"On a hidden case: {_said(check)}",
                        check.claim, check.hint, "failed", _said(check))
            if kind == "failed" and check.name in known
            else CheckResult(name, check.name, 0.0, 0.5, False, "not written yet.", check.claim,
                             check.hint, "todo")
            for name, checks in checks_of(LAB.topic).items() for check in checks
        ]
        for kind in ("failed", "blank")
    )  # fmt: skip
    row = result("ann", lab=LAB.name, checks=failed, score=0.0, max_score=10.0,
                 written={"growth": 1.0})  # fmt: skip
    rows = [hand_in(out, name, solved(LAB.name), LAB.name, **_fields(row)) for name in NAMES]
    rows.append(replace(row, student="nobody", checks=blank))
    write_pages(out, rows, [])
    notebook = out / f"{LAB.name}.ipynb"
    notebook.write_text(json.dumps(solved_notebook(LAB)))
    feedback = out / "feedback" / LAB.name
    written = {name: feedback / f"{name}.html" for name in (*NAMES, "nobody")}
    alone = tmp_path_factory.mktemp("alone")
    write_pages(alone, rows[:1], [])
    return [*written.values(), out / "report.html", alone / "report.html", write_report(notebook)]


def _fields(row):
    return {"checks": row.checks, "score": 0.0, "max_score": 10.0, "written": row.written}


def _said(check):
    return next((each.says for each in mistakes_of(LAB.topic) if each.check == check.name), "")


@pytest.mark.parametrize(("width", "theme"), crossed(WIDTHS, THEMES, n_shown=1))
def test_pages_break_no_rule_and_fit_the_window(browser, pages, width, theme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=True
    )
    page = context.new_page()
    for path in pages:
        page.goto(path.as_uri())
        page.evaluate(OPEN)
        keeps_the_rules(page)
        assert not page.evaluate(IS_WIDE), path.name
    context.close()


PIECES = """part => [...part.childNodes].map(child => {
    const range = document.createRange();
    range.selectNodeContents(child);
    return range.getClientRects().length;
})"""


def test_a_name_from_right_to_left_takes_no_neighbour_along(browser, pages):
    (path,) = [each for each in pages if each.stem == "עדי כהן"]
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    assert f"עדי כהן, {LAB.name}.ipynb" in page.locator("p.sub").first.inner_text()
    assert max(page.locator("p.sub").first.evaluate(PIECES)) == 1
    page.close()


@pytest.fixture(scope="module")
def hall(tmp_path_factory):
    """The desk and the class report of 1,200 students, of whom none wrote kv_table."""
    out, row = tmp_path_factory.mktemp("hall"), result_of("any")
    checks = [
        replace(each, status="todo", message="not written yet", points=0.0, passed=False)
        if each.exercise == "kv_table" else each
        for each in row.checks
    ]  # fmt: skip
    rows = [replace(row, student=f"student {i:04}", checks=checks) for i in range(1200)]
    record(out, rows, answers={"growth": "linear"})
    write_pages(out, rows, [])
    with served(out, "bea") as (origin, people):
        yield out, origin, people["bea"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("width", WIDTHS)
def test_a_class_of_1200_fits_the_window_and_opens_in_seconds(browser, hall, width):
    out, origin, bea = hall
    page = browser.new_page(viewport={"width": width, "height": 900}, bypass_csp=True)
    page.goto(f"{origin}/?token={bea.token}")
    opened = [(out / "report.html").as_uri(), *(origin + each for each in AT_THE_DESK)]
    for address in opened:
        begin = time.monotonic()
        page.goto(address)
        assert time.monotonic() - begin < MOST_S, address
        assert not page.evaluate(IS_WIDE), address
        if address.endswith("overview"):
            assert "1,200 submissions" in page.inner_text("main").replace("1200", "1,200")
            keeps_the_rules(page)
    page.close()
