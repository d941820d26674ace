"""Slides of the lecture: nothing runs over, answers lie below, figures of records are there."""

import pytest

from autograder.builder.slides import write_decks

LEAST_PX = 18  # of a letter, on a slide of 1,280 pixels
MEASURED = """() => {
    document.body.classList.add("all-slides");
    const found = Reveal.getSlides().map((slide) => [slide.querySelector("h2").innerText,
        slide.scrollHeight, slide.scrollWidth, parseFloat(getComputedStyle(slide).fontSize)]);
    document.body.classList.remove("all-slides");
    return found;
}"""


LABS = ("01_memory", "04_kv_cache", "06_speculative")  # with --large, all


@pytest.fixture(scope="module")
def decks(tmp_path_factory, request):
    labs = () if request.config.getoption("--large") else LABS
    return {path.stem: path for path in write_decks(tmp_path_factory.mktemp("slides"), labs)}


@pytest.fixture
def opened(browser, decks):
    """`opened(lab)`: a page with its deck, and the addresses that it asked for."""
    pages = []

    def open_deck(lab):
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        pages.append(page)
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(decks[lab].as_uri())
        page.wait_for_function("window.Reveal && Reveal.isReady()")
        return page

    yield open_deck
    for page in pages:
        page.close()


def test_no_slide_is_larger_than_the_screen_and_none_needs_a_network(opened, decks):
    for lab in decks:
        slides_fit(opened(lab))


def slides_fit(page):
    slides = page.evaluate(MEASURED)
    assert len(slides) > 30
    assert min(slide[1] for slide in slides) > 50
    assert [slide for slide in slides if slide[1] > 720 or slide[2] > 1280] == []
    assert [slide for slide in slides if slide[3] < LEAST_PX] == []
    assert all(address.startswith(("file:", "data:")) for address in page.asked)


def test_the_key_down_reveals_an_answer_and_the_key_right_leaves_it_out(opened):
    page = opened("01_memory")
    page.evaluate("""() => Reveal.slide(Reveal.getSlides().findIndex(
        (slide) => slide.innerText.includes("def weight_bytes")) && Reveal.getIndices(
        Reveal.getSlides().find((slide) => slide.textContent.includes("def weight_bytes"))).h)""")
    now = page.locator("section.present").last
    assert "raise NotImplementedError" in now.inner_text()
    page.keyboard.press("ArrowDown")
    assert "n_params * bytes_per_param" in page.locator("section.present").last.inner_text()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert "weight_bytes" not in page.locator("section.present").last.inner_text()


def test_figures_of_records_and_players_are_there_without_a_run(opened):
    page = opened("06_speculative")
    assert page.locator("figure img").count() >= 7
    assert page.locator("button", has_text="play").count() == 1
