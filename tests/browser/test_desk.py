"""The marking desk in a real browser, used by the keyboard alone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from desk_server import ANSWERS, LAB, answers_address, made_up_class, served
from desk_store import HOSTILE, open_store
from instances import crossed
from recorded import record, result_of, without_mark
from test_pages import CONTRAST, TOO_WIDE

from autograder.desk.answers import Answers
from autograder.desk.appeals import Appeals
from autograder.desk.tables import DeskTables
from autograder.places import NOTEBOOKS
from autograder.record.marks import marks_of

N = 2 * len(HOSTILE) + 2 * len(ANSWERS)
HELD_ENTER = """() => document.dispatchEvent(
    new KeyboardEvent("keydown", {key: "Enter", repeat: true, bubbles: true, cancelable: true}))"""
LETTERS = """() => [...document.querySelectorAll("main *, .who")]
    .filter(each => each.textContent.trim() && !each.matches("label"))
    .map(each => parseFloat(getComputedStyle(each).fontSize))"""
SIZES = {"wide": (1280, 800), "narrow": (900, 900), "phone": (390, 844)}


FAILED = ("yan", "n" * 80)
NAMES = ("陳" * 80, "עדי כהן " * 10 + "x")
WHOLE = (NOTEBOOKS / f"{LAB}.ipynb").read_bytes()


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("desk")
    made_up_class(out, N)
    record(out, [result_of("zoe", ("largest_model",))], submitted=WHOLE)
    record(out, [*map(without_mark, FAILED)], submitted=WHOLE)
    tables = DeskTables(out / "course" / "gradebook.db")
    appeals = Appeals(out, tables, open_store(out))
    appeals.add(LAB, "largest_model", "zoe", "Why is it wrong?")
    record(out, [result_of(each) for each in NAMES])
    for each in NAMES:
        appeals.add(LAB, "kv_table", each, f"למה? {each}")
    return out


@pytest.fixture(scope="module")
def desk(out):
    with served(out, "bea", "carl") as (origin, people):
        yield origin, people


@pytest.fixture
def opened(desk, browser):
    """A page of bea's, with the dialogs, errors and requests to elsewhere that it saw."""
    origin, people = desk
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, seen = context.new_page(), []
    page.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("request", lambda request: request.url.startswith((origin, "data:"))
            or seen.append(request.url))  # fmt: skip
    page.goto(f"{origin}/?token={people['bea'].token}")
    yield page, seen
    context.close()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def test_a_class_is_marked_by_keyboard_alone_and_no_answer_does_harm(opened, desk, out):
    page, seen = opened
    page.goto(desk[0] + answers_address())
    addresses = set()
    while "/answer/" in page.url:
        assert page.url not in addresses
        addresses.add(page.url)
        press(page, *(("0",) if page.get_by_text("left blank", exact=True).count() else "12"))
        if page.get_by_role("button", name="Save for").count():  # it asks once
            press(page, "Enter")
        with page.expect_navigation():
            press(page, "Enter")
    assert seen == []
    assert len(addresses) == len(HOSTILE) + len(ANSWERS)  # equal answers are marked once
    states = open_store(out).states(LAB, "growth")
    assert {student for student, state in states.items() if state.waits} == {*FAILED}
    assert {state.points for state in states.values()} == {0.0, 0.5, None}


def test_keys_choose_items_override_points_write_a_comment_and_undo(opened, desk):
    page, _ = opened
    page.goto(desk[0] + answers_address("training_or_generation"))
    press(page, "1", "2", "1")
    assert page.locator("input[name=item]:checked").count() == 1
    assert "the items give 0.25" in page.inner_text("#sum")
    press(page, "a")
    assert "the items give 0.5" in page.inner_text("#sum")
    press(page, "p")
    page.keyboard.type("0.4")
    press(page, "Escape", "c")
    page.keyboard.type("Say what is unknown. 1 2 3")
    press(page, "Escape")
    page.uncheck("input[name=together]")
    first = page.url
    with page.expect_navigation():
        press(page, "Enter")
    assert page.url != first
    with page.expect_navigation():
        press(page, "u")
    assert page.url == first
    assert page.input_value("#comment") == ""


def test_the_first_enter_on_a_group_says_how_many_answers_it_saves_and_saves_none(
    opened, desk, out
):
    page, _ = opened
    page.goto(desk[0] + answers_address("training_or_generation"))
    first, before = page.url, open_store(out).states(LAB, "training_or_generation")
    n = sum(state.waits for state in before.values()) - len(FAILED)
    assert n > 2
    save, told = page.locator("button.main"), page.get_by_role("status")
    assert save.inner_text() == f"Save for {n} answers Enter"
    assert told.inner_text() == ""
    press(page, "0", "Enter")
    assert told.inner_text() == (
        f"This saves one mark for {n} answers. "
        "Enter again saves them. After G, Enter saves this one alone."
    )
    page.evaluate(HELD_ENTER)
    assert page.url == first
    assert open_store(out).states(LAB, "training_or_generation") == before

    press(page, "g")
    assert (save.inner_text(), told.inner_text()) == ("Save and next Enter", "")
    press(page, "g", "p")
    page.keyboard.press("Enter")  # in a field, too, it asks once
    assert f"one mark for {n} answers" in told.inner_text()
    with page.expect_navigation():
        press(page, "Enter")
    after = open_store(out).states(LAB, "training_or_generation")
    assert {after[student].points for student in after if student not in FAILED} == {0.0}
    page.goto(first)
    with page.expect_navigation():
        press(page, "u")
    assert [state.points for state in open_store(out).states(LAB, "training_or_generation").values()
            if not state.waits] == []  # fmt: skip


def test_a_save_of_one_answer_asks_nothing(opened, desk):
    page, _ = opened
    page.goto(desk[0] + answers_address("training_or_generation"))
    press(page, "g", "0")
    with page.expect_navigation():
        press(page, "Enter")
    with page.expect_navigation():
        press(page, "u")


def test_question_and_model_answer_are_beside_the_answer_above_the_fold(opened, desk):
    page, _ = opened
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(desk[0] + answers_address("training_or_generation"))
    left, middle, right = (
        page.locator(f"section.{name}").bounding_box() for name in ("asked", "read", "give")
    )
    assert left["x"] < middle["x"] < right["x"]
    assert left["y"] == middle["y"] == right["y"]
    assert page.get_by_text("Model answer").bounding_box()["y"] < 600


def test_one_key_opens_the_whole_notebook_at_the_answer_and_goes_back(opened, desk):
    page, seen = opened
    page.goto(desk[0] + answers_address("training_or_generation"))
    answer = page.url
    with page.expect_navigation():
        press(page, "w")
    assert "/notebook/" in page.url
    assert page.url.endswith("#cell-training_or_generation")
    with page.expect_navigation():
        press(page, "w")
    assert (page.url, seen) == (answer, [])


def test_marks_by_hand_and_a_question_of_a_student_need_no_mouse(opened, desk, out):
    page, seen = opened
    page.goto(f"{desk[0]}/failed")
    while page.evaluate("document.activeElement.textContent.slice(0, 9)") != LAB:
        press(page, "Tab")
    with page.expect_navigation():
        press(page, "Enter")
    page.keyboard.type("0.5")
    with page.expect_navigation():
        press(page, "Enter")
    given = [mark for mark in marks_of(out) if mark.by_hand == 0.5 and mark.status == "ungradable"]
    assert len(given) == 1

    page.goto(f"{desk[0]}/appeals")
    while page.evaluate("document.activeElement.name") != "student":
        press(page, "Tab")
    page.keyboard.type("zo")
    press(page, "Tab")
    page.keyboard.type(f"{LAB}: kv_t")
    press(page, "Tab")
    page.keyboard.type("And the table?")
    press(page, "Tab")
    with page.expect_navigation():
        press(page, "Enter")
    assert f"zoe\t{LAB}: kv_table\tAnd the table?" in page.inner_text("tbody")
    assert seen == []


@pytest.mark.parametrize(("width", "height", "least"), [(1920, 1080, 30), (390, 844, 16)])
def test_the_letters_of_the_overview_grow_with_the_window_and_no_word_is_broken(
    opened, desk, width, height, least
):
    page, _ = opened
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{desk[0]}/overview")
    assert min(page.evaluate(LETTERS)) >= least
    names = page.locator("td code").evaluate_all("all => all.map(e => e.getClientRects().length)")
    assert {*names} == {1}
    heads = page.locator("th").evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)")
    assert max(heads) <= 0


@pytest.mark.parametrize(("size", "theme"), crossed(SIZES, ("light", "dark"), n_shown=1))
def test_pages_fit_and_can_be_read(desk, out, browser, shoot, size, theme):
    origin, people = desk
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme
    )  # fmt: skip
    page = context.new_page()
    page.goto(f"{origin}/?token={people['carl'].token}")
    answers = Answers(out, DeskTables(out / "course" / "gradebook.db").secret())
    named = answers.sheet(LAB, "growth").answers.values()
    failed, zoe = (answers.submission_id(LAB, each) for each in ("yan", "zoe"))
    linear = next(each.id for each in named if each.text.startswith("The cache is **linear**"))
    for name, address in {
        "home": "/", "rubric": f"/rubric/{LAB}/growth", "answer": f"/answer/{LAB}/growth/{linear}",
        "shares": "/shares", "appeals": "/appeals", "appeal": "/appeal/1", "rtl": "/appeal/3",
        "outputs": f"/outputs/{linear}", "overview": "/overview",
        "failed": "/failed", "hand": f"/notebook/{failed}",
        "whole": f"/notebook/{zoe}?answer={linear}#cell-growth",
    }.items():  # fmt: skip
        page.goto(origin + address)
        shoot(page, f"desk_{name}_{size}_{theme}.png", full_page=True)
        assert page.evaluate(TOO_WIDE) == []
        assert [found for found in page.evaluate(CONTRAST) if found[0] < 4.5] == []
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
    context.close()
