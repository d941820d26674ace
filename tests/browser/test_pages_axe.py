"""Students' pages, the class report and the page to print break no rule of WCAG 2.1 AA.

With names of 80 characters, in Chinese and right to left, and a notebook that nobody wrote. What is
folded is open.
"""

import json
from dataclasses import replace

import pytest
from axe_rules import keeps_the_rules
from classroom import hand_in, result, solved
from instances import crossed

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


@pytest.mark.parametrize(("width", "theme"), crossed(WIDTHS, THEMES))
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
