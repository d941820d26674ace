"""Slides of the lecture can be read in a hall: how many, how much text, how large its letters."""

from functools import cache

import pytest
from axe_rules import keeps_the_rules
from instances import crossed, lab_instances
from matplotlib.text import Text
from shown import letters_of

from autograder.builder.slides import shown as shown_cells
from autograder.builder.slides import write_decks
from autograder.builder.slides.text import asked, code, in_short_paragraphs, lead
from autograder.labs import part_of
from labkit.labs.batching.widget import batching_player

MOST_SLIDES, MOST_WORDS, LEAST = 45, 40, 1 / 36  # of a lab; of a paragraph; of the height
WIDTH, HEIGHT = 1920, 1080
# Of each slide, with its question and then with its answer: heading, what is too large, least
# letter, and the words of its longest paragraph.
MEASURED = """() => {
    document.body.classList.add("all-slides");
    const scale = Reveal.getScale();
    const measure = (slide) => {
        const words = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT), range = new Range();
        let least = Infinity;
        while (words.nextNode()) {
            range.selectNodeContents(words.currentNode);
            const parent = words.currentNode.parentElement;
            if (!words.currentNode.data.trim() || !range.getBoundingClientRect().width) continue;
            least = Math.min(least, scale * parseFloat(getComputedStyle(parent).fontSize));
        }
        for (const image of slide.querySelectorAll("img[data-letters]")) {
            const {offsetHeight, offsetWidth, naturalHeight, naturalWidth} = image;
            const high = Math.min(offsetHeight, offsetWidth * naturalHeight / naturalWidth);
            least = Math.min(least, scale * high * image.dataset.letters);
        }
        const wide = [...slide.querySelectorAll("pre, a:has(> table), img")].filter(
            (part) => part.scrollWidth > part.clientWidth + 1);
        const said = [...slide.querySelectorAll("p, li, figcaption")].map(
            (part) => part.innerText.trim().split(/\\s+/).length);
        const faults = [...(slide.scrollHeight > 720 ? [`${slide.scrollHeight} high`] : []),
                        ...wide.map((part) => `${part.scrollWidth} wide`)];
        return [slide.querySelector("h2").innerText, faults, least, Math.max(0, ...said)];
    };
    const found = Reveal.getSlides().flatMap((slide) => {
        const answer = slide.querySelector(".answer"), asked = measure(slide);
        if (!answer) return [asked];
        answer.classList.add("visible");
        const answered = measure(slide);
        answer.classList.remove("visible");
        return [asked, answered];
    });
    document.body.classList.remove("all-slides");
    return found;
}"""
GO_TO = """words => Reveal.slide(Reveal.getSlides().findIndex(
    slide => slide.querySelector("h2").textContent.includes(words)))"""


@pytest.fixture(scope="module")
def deck_of(tmp_path_factory):
    """`deck_of(lab)`: the file of its deck."""
    folder = tmp_path_factory.mktemp("slides")

    @cache
    def deck_of(lab):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(shown_cells, "_figure", with_letters(shown_cells._figure))
            (path,) = write_decks(folder, [lab])
        return path

    return deck_of


def with_letters(draw):
    """Pictures of figures that know how large their least letters are, of their height."""

    def drawn(figure):
        html = draw(figure)
        return html.replace("<img ", f'<img data-letters="{least_letters(figure)}" ', 1)

    return drawn


def least_letters(figure):
    """As a part of the picture's height; what is not seen counts, too."""
    words = [words for words in figure.findobj(Text) if words.get_text().strip()]
    return min(map(letters_of, words)) / 72 / figure.get_size_inches()[1]


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


@pytest.mark.parametrize("lab", lab_instances(1))
def test_every_slide_can_be_read_from_the_last_row_and_none_needs_a_network(opened, lab):
    page = opened(lab.name)
    if picture := part_of(lab.topic, "picture"):
        least = least_letters(picture.draw().figure)
        page.evaluate("least => document.querySelector('p img').dataset.letters = least", least)
    found = page.evaluate(MEASURED)
    assert page.locator("img:not([data-letters])").count() == 0
    counter = page.locator(".slide-number").evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize)"
    )
    assert counter >= LEAST * HEIGHT
    n_slides = page.evaluate("Reveal.getTotalSlides()")
    assert len(lab.marked) < n_slides <= MOST_SLIDES
    assert len(found) > n_slides
    assert [(name, faults) for name, faults, _, _ in found if faults] == []
    assert [each for each in found if each[2] < LEAST * HEIGHT] == []
    assert [each for each in found if each[3] > MOST_WORDS] == []
    assert all(address.startswith(("file:", "data:")) for address in page.asked)


@pytest.mark.parametrize("lab", lab_instances())
def test_nothing_of_a_slide_breaks_wcag_aa(opened, lab):
    page = opened(lab.name)
    page.evaluate("document.body.classList.add('all-slides')")
    keeps_the_rules(page, "main")


@pytest.mark.parametrize(
    ("width", "scheme"), crossed((1280, 900, 390), ("light", "dark"), n_shown=1)
)
def test_a_deck_in_a_small_window_breaks_no_rule(opened, width, scheme):
    page = opened("01_memory")
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    for _ in range(3):
        keeps_the_rules(page)
        page.keyboard.press("Space")
    page.evaluate("document.body.classList.add('all-slides')")
    keeps_the_rules(page, "main")


def now(page):
    return page.locator("section.present").inner_text()


def test_the_key_down_reveals_an_answer_and_the_key_right_leaves_it_out(opened):
    page = opened("01_memory")
    page.evaluate(GO_TO, "largest_model")
    assert "def largest_model" in now(page) and "vram_bytes - overhead_bytes" not in now(page)
    page.keyboard.press("ArrowDown")
    assert "vram_bytes - overhead_bytes" in now(page)
    page.keyboard.press("ArrowUp")
    assert "vram_bytes - overhead_bytes" not in now(page)
    page.keyboard.press("ArrowRight")
    assert "largest_model" not in now(page)


@pytest.mark.parametrize("key", ["PageDown", "Space"])
def test_a_remote_goes_through_questions_and_answers_without_a_click(opened, key):
    page = opened("01_memory")
    page.evaluate(GO_TO, "largest_model")
    page.keyboard.press(key)
    assert "vram_bytes - overhead_bytes" in now(page)
    page.keyboard.press(key)
    assert "largest_model" not in now(page)


def test_a_player_fills_its_slide_and_answers_to_the_keys(opened):
    page = opened("04_kv_cache")
    assert page.locator("figure img").count() >= 7
    page.evaluate("Reveal.slide([...Reveal.getSlides()].findIndex(s => s.matches('.player')))")
    seen, shown = page.locator("section.present .moment.visible"), []
    picture = page.locator("section.present img").first.bounding_box()
    assert picture["height"] > 0.85 * HEIGHT and picture["width"] > 0.85 * WIDTH
    for key in ("ArrowRight", "PageDown", "ArrowLeft", "PageUp"):
        page.keyboard.press(key)
        shown.append(seen.count())
    assert shown == [1, 2, 1, 0]


def test_a_run_in_a_player_begins_with_something_and_keeps_its_result_for_the_end():
    from labkit.batching import DecodeLoop, PrefillLoop

    first, *_, last = batching_player(PrefillLoop, DecodeLoop).moments()
    assert "tokens/s" not in first.get_suptitle() and "ends after" not in first.get_suptitle()
    assert "tokens/s" in last.get_suptitle() and "ends after" in last.get_suptitle()
    lanes = first.axes[0]
    assert lanes.collections or lanes.lines


def test_a_question_on_papers_has_its_answer_and_no_slide_lists_all_answers(opened):
    page = opened("08_papers")
    page.evaluate(GO_TO, "Q01 ·")
    assert "Put the steps in order" in now(page) and "q01 =" not in now(page)
    page.keyboard.press("ArrowDown")
    assert 'q01 = "D E C A B"' in now(page)
    texts = page.evaluate("Reveal.getSlides().map((slide) => slide.textContent)")
    assert [text for text in texts if "D E C A B" in text and "A D E" in text] == []


def test_a_paragraph_keeps_its_first_sentences_and_what_it_announces():
    many = "One two three. " * 20
    assert lead(many + "The rule is:").startswith("One two three.")
    assert lead(many + "The rule is:").endswith("The rule is:")
    assert len(lead(many).split()) <= MOST_WORDS
    assert lead("Run the cell. Then it is true.") == "Then it is true."
    pieces = [*in_short_paragraphs(many)]
    assert " ".join(pieces).split() == many.split()
    assert max(len(piece.split()) for piece in pieces) <= MOST_WORDS


def test_an_exercise_shows_what_it_asks_for_and_long_code_says_how_much_is_missing():
    text = 'class Box:\n    """Holds things."""\n    def put(self, thing: int) -> None: ...'
    assert "<p>Holds things.</p>" in asked(text) and "put" in asked(text)
    assert "lines more" in code("\n\n".join(["x = 1"] * 40))
    assert "lines more" not in code("x = 1")
