"""The grader's pages in a real browser, on a phone and on a desk, from files alone."""

import json
from dataclasses import replace

import pytest
from instances import slow_unless

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.pages.evidence.flags import Flag, write_flags
from autograder.pages.evidence.handed_in import starter_of
from autograder.pages.evidence.similarity import write_similarity
from autograder.pages.report import write_pages
from autograder.practice import solved_notebook
from autograder.record.marks import HandMark, Mark
from autograder.record.results import GRADED, PARTLY, UNGRADABLE, CheckResult, Result, score_of

LAB = "04_kv_cache"
SIZES = {
    "phone": (375, 800, "light"), "narrow": (900, 900, "dark"), "desk": (1280, 900, "light"),
}  # fmt: skip
LONG = "a" * 90
PAGES = ["feedback", "late", "report", "timing", "integrity", "similarity"]

TOO_WIDE = """() => [document.documentElement, ...document.querySelectorAll('.scroll')]
    .filter(part => part.scrollWidth > part.clientWidth).map(part => part.ariaLabel || 'page')"""
CONTRAST = """() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const over = (top, bottom) => {
    const alpha = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map(i => top[i] * alpha + bottom[i] * (1 - alpha));
  };
  const luminance = colour => {
    const [r, g, b] = colour.map(c => c / 255).map(
      c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = element => {
    if (!element) return [255, 255, 255];
    const own = channels(getComputedStyle(element).backgroundColor);
    return over(own, own[3] === 0 || own.length > 3 ? background(element.parentElement) : own);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || element.closest('style')) continue;
    const style = getComputedStyle(element);
    const behind = background(element);
    const ink = element.closest('svg') ? style.fill : style.color;
    const a = luminance(over(channels(ink), behind)), b = luminance(behind);
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
                walker.currentNode.textContent.trim().slice(0, 60)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A class of 40 with everything that can stand on a page; the pages' files by name."""
    out = tmp_path_factory.mktemp("out")
    rows = [_result(i) for i in range(40)]
    rows.append(
        replace(_result(40), status=UNGRADABLE, score=None, checks=[], problem=f"No JSON. {LONG}")
    )
    hand = HandMark("curve", 1.5, 2.0, comment=f"Say why it bends. {LONG}")
    marks = [
        Mark(LAB, row.student, GRADED, row.score, 1.5, 0.0, (), row.late_factor,
             round((row.score + 1.5) * row.late_factor, 2), row.max_score + 3, hand=(hand,))
        for row in rows[:2]
    ]  # fmt: skip
    flags = [
        Flag("same", ("student 01", f"student 02 {LONG}"), "The files are the same."),
        Flag("server", ("student 03",), f"In {LONG}: vllm."),
    ]
    write_flags(out, LAB, flags)
    similarity = _similarity(out, rows)
    write_pages(out, rows, marks)
    return {
        "feedback": out / "feedback" / LAB / "student 07.html",
        "late": out / "feedback" / LAB / f"student 01 {LONG}.html",
        "report": out / "report.html",
        "timing": out / "timing.html",
        "integrity": out / "integrity" / f"{LAB}.html",
        "similarity": similarity,
    }


def _result(i):
    names = list(starter_of(LAB).open)[:5]
    wrong = (
        f"On a hidden case: the keys of layer {i}; expected 0.5, got 'torch.{LONG}'; first "
        "difference at index [0, 0]. The view does not show what was written since: it is a copy."
    )
    passed = [(i * 7 + j * 3) % 40 > 2 * j for j in range(15)]
    checks = [
        CheckResult(
            exercise=names[j // 3],
            check=f"check_{j}",
            points=float(ok),
            max_points=1.0,
            passed=ok,
            message="" if ok else "not written yet." if j > 12 else wrong,
            claim=f"What check {j} wants of `{names[j // 3]}`.",
            hint="Look closely.",
        )
        for j, ok in enumerate(passed)
    ]
    given = {
        "checks": checks, "flags": ["the test cell check_generate was missing or changed"],
        "written": {"curve": 2.0, "rewinding": 1.0}, "file_name": f"{LAB}.ipynb", "seconds": i / 9,
        "versions": {"labkit": "0.1", "sandbox": "namespaces", "seed": "7"},
    }  # fmt: skip
    row = Result(f"student {i:02}", LAB, GRADED, score_of(checks), 15.0, **given)
    if i == 1:
        return replace(
            row,
            student=f"student 01 {LONG}",
            status=PARTLY,
            problem="Cell 3 was stopped.",
            late="Handed in 26 hours after the deadline of 15 October.",
            late_factor=0.8,
            attempt=2,
            n_attempts=3,
            group=f"team {LONG}",
            submitted_at="2026-10-17T01:59:00+08:00",
        )
    return row


def _similarity(out, rows):
    """The page for a class in which two solved everything in the same words."""
    blank, solved = build_notebook(find_lab(LAB), "student"), solved_notebook(find_lab(LAB))
    for row, notebook in zip(rows[2:], [solved, solved, *[blank] * 4], strict=False):
        path = out / "course" / "autograded" / row.student / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(notebook))
    return write_similarity(out, LAB, rows)


@pytest.fixture(
    scope="module",
    params=[pytest.param(size, marks=slow_unless(size != "desk")) for size in SIZES],
)
def opened(request, browser):
    """A page of one size; what it asked for and what went wrong are noted."""
    width, height, scheme = SIZES[request.param]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.asked, page.size = [], request.param
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    yield page
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_needs_nothing_and_can_be_read(name, pages, opened, shoot):
    opened.asked.clear()
    opened.goto(pages[name].as_uri())
    shoot(opened, f"page_{name}_{opened.size}.png", full_page=True)
    assert opened.asked == [pages[name].as_uri()]
    assert opened.evaluate(TOO_WIDE) == []
    opened.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert opened.evaluate(TOO_WIDE) == []
    contrasts = opened.evaluate(CONTRAST)
    assert len(contrasts) > 10
    assert min(contrasts)[0] >= 4.5, min(contrasts)


@pytest.mark.parametrize("name", ["feedback", "report"])
def test_a_printed_page_fits_its_sheet_and_shows_what_is_folded_away(name, pages, browser):
    page = browser.new_page(viewport={"width": 718, "height": 1000})  # A4 within its margins
    page.goto(pages[name].as_uri())
    folded = page.locator("details").first
    on_screen = folded.bounding_box()["height"]
    page.emulate_media(media="print")
    assert folded.evaluate("part => part.open") is False
    assert folded.bounding_box()["height"] > 1.4 * on_screen
    assert page.evaluate(TOO_WIDE) == []
    page.close()


def test_the_contrast_test_sees_text_that_is_too_pale(opened):
    opened.set_content("<p style='color:#888'>pale</p><p>dark</p>")
    [pale, dark] = [ratio for ratio, _ in opened.evaluate(CONTRAST)]
    assert pale == pytest.approx(3.54, abs=0.02)
    assert dark == pytest.approx(21)


def test_passed_and_failed_differ_without_colours(pages, opened):
    opened.goto(pages["feedback"].as_uri())
    signs = {
        kind: set(opened.locator(f"li.{kind} .mark").all_inner_texts())
        for kind in ("passed", "failed")
    }
    assert signs == {"passed": {"✓"}, "failed": {"✗"}}
    spoken = opened.get_by_role("img", name="failed", exact=True).count()
    assert spoken == opened.locator("li.failed .mark").count() > 0
    assert opened.locator("mark").count() == 0
    opened.goto(pages["similarity"].as_uri())
    line = "getComputedStyle(document.querySelector('mark')).textDecorationLine"
    assert opened.evaluate(line) == "underline"


def test_the_histogram_says_its_numbers_in_words_and_on_the_bars(pages, opened):
    opened.goto(pages["report"].as_uri())
    picture = opened.locator("svg.histogram")
    words = picture.get_attribute("aria-label")
    counts = [
        int(part.split(":")[1].strip(" .")) for part in words.partition("points: ")[2].split(";")
    ]
    assert sum(counts) == 40
    shown = picture.locator("text").all_text_contents()[: len(counts)]
    assert [int(text or 0) for text in shown] == counts
    tops = [picture.locator("rect").nth(i).bounding_box()["height"] for i in range(len(counts))]
    assert max(range(10), key=counts.__getitem__) == max(range(10), key=tops.__getitem__)


def test_links_of_the_class_report_open(pages, opened):
    opened.goto(pages["report"].as_uri())
    opened.get_by_role("link", name="student 07").first.click()
    assert opened.title() == "Lab 4: the KV cache: student 07"
    opened.goto(pages["report"].as_uri())
    opened.get_by_role("link", name="Answers that are alike").click()
    assert "alike" in opened.title()


def test_tables_of_the_class_report_sort_and_filter(pages, browser):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(pages["report"].as_uri())
    table = page.locator("table.stack[data-what=students]")
    head = table.get_by_role("columnheader", name="by checks")
    points = "cells => cells.map(cell => Number(cell.dataset.value))"
    found = []
    for direction in ("ascending", "descending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == direction
        found.append(table.locator("td[data-label='by checks']").evaluate_all(points))
    assert found[0] == sorted(found[0])
    assert found[1] == found[0][::-1] != found[0]
    page.get_by_label("Filter these students").last.fill("student 07")
    assert table.locator("tbody tr:visible").count() == 1
    page.get_by_label("Filter these students").last.fill("")
    assert table.locator("tbody tr:visible").count() == 41
    page.close()


def test_the_menu_of_labs_stays_in_sight(pages, browser):
    page = browser.new_page(viewport={"width": 900, "height": 900})
    page.goto(pages["report"].as_uri())
    page.evaluate("window.scrollTo(0, 2000)")
    assert page.get_by_role("navigation").bounding_box()["y"] == 0
    page.close()
