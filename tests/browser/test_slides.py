"""Slides of the lecture: nothing runs over, answers lie below, figures of records are there."""

from functools import cache

import pytest
from instances import lab_instances

from autograder.builder.slides import _steps, write_decks

LEAST_PX, WIDTH, HEIGHT = 14, 1280, 720  # the least letter on a screen of this size
# Of each slide: its heading, its height, how far right it reaches, and its least letter.
MEASURED = """() => {
    document.body.classList.add("all-slides");
    const scale = Reveal.getScale();
    const found = Reveal.getSlides().map((slide) => {
        const words = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT), range = new Range();
        let right = 0, least = Infinity;
        while (words.nextNode()) {
            range.selectNodeContents(words.currentNode);
            const box = range.getBoundingClientRect(), parent = words.currentNode.parentElement;
            if (!box.width || parent.closest("[tabindex]")) continue;
            right = Math.max(right, box.right);
            least = Math.min(least, scale * parseFloat(getComputedStyle(parent).fontSize));
        }
        for (const picture of slide.querySelectorAll("img:not([tabindex] *), pre, table"))
            right = Math.max(right, picture.getBoundingClientRect().right);
        return [slide.querySelector("h2").innerText, scale * slide.scrollHeight, right, least];
    });
    document.body.classList.remove("all-slides");
    return found;
}"""


@pytest.fixture(scope="module")
def deck_of(tmp_path_factory):
    """`deck_of(lab)`: the file of its deck."""
    folder = tmp_path_factory.mktemp("slides")

    @cache
    def deck_of(lab):
        (path,) = write_decks(folder, [lab])
        return path

    return deck_of


@pytest.fixture
def opened(browser, deck_of):
    """`opened(lab)`: a page with its deck, and the addresses that it asked for."""
    pages = []

    def open_deck(lab):
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        pages.append(page)
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(deck_of(lab).as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        return page

    yield open_deck
    for page in pages:
        page.close()


@pytest.mark.parametrize("lab", lab_instances())
def test_no_slide_is_larger_than_the_screen_and_none_needs_a_network(opened, lab):
    page = opened(lab.name)
    slides = page.evaluate(MEASURED)
    assert len(slides) >= min(31, len(lab.cells))  # a new lab has few
    assert min(height for _, height, _, _ in slides) > 50
    assert [slide for slide in slides if slide[1] > HEIGHT or slide[2] > WIDTH] == []
    assert [slide for slide in slides if slide[3] < LEAST_PX] == []
    assert all(address.startswith(("file:", "data:")) for address in page.asked)


def test_the_key_down_reveals_an_answer_and_the_key_right_leaves_it_out(opened):
    page = opened("01_memory")
    page.evaluate("""() => Reveal.slide(Reveal.getSlides().findIndex(
        (slide) => slide.innerText.includes("def largest_model")) && Reveal.getIndices(
        Reveal.getSlides().find((slide) => slide.textContent.includes("def largest_model"))).h)""")
    now = page.locator("section.present").last
    assert "raise NotImplementedError" in now.inner_text()
    page.keyboard.press("ArrowDown")
    assert "vram_bytes - overhead_bytes" in page.locator("section.present").last.inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert "largest_model" not in page.locator("section.present").last.inner_text()


def test_figures_of_records_and_players_are_there_without_a_run(opened):
    page = opened("04_kv_cache")
    assert page.locator("figure img").count() >= 7
    assert page.locator("button", has_text="play").count() == 1


def test_a_question_on_papers_lies_above_its_answer_and_no_slide_lists_all_answers(opened):
    page = opened("08_papers")
    page.evaluate("""() => Reveal.slide(Reveal.getIndices(
        Reveal.getSlides().find((slide) => slide.textContent.includes("Q01 ·"))).h)""")
    asked = page.locator("section.present").last.inner_text()
    assert "Put the steps in order" in asked and "q01 =" not in asked
    page.keyboard.press("ArrowDown")
    assert 'q01 = "D E C A B"' in page.locator("section.present").last.inner_text()
    texts = page.evaluate("Reveal.getSlides().map((slide) => slide.textContent)")
    assert [text for text in texts if "D E C A B" in text and "A D E" in text] == []


def test_a_docstring_cut_in_two_keeps_its_colours(deck_of):
    slides = deck_of("04_kv_cache").read_text(encoding="utf-8").split("<section>\n")
    _, second, *_ = [slide for slide in slides if slide.startswith("<h2>RingCache</h2>")]
    assert '<span class="sd">        Shapes: keys and values (B Hkv T D)' in second


def test_a_heading_without_a_text_has_a_slide():
    assert list(_steps("# Lab\n\n## One\n\ntext\n\n## Two", "")) == [
        ("Lab", ""),
        ("One", "text"),
        ("Two", ""),
    ]
