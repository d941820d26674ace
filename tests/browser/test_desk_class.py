"""A class is marked from the first page to the last by keyboard alone; keys and server are counted.

The default is a small class; `--large` has 120 students.
"""

import random
import re
from itertools import pairwise
from statistics import median, quantiles

import pytest
from desk_server import served
from desk_store import open_store
from recorded import record, result_of

from autograder.builder.source import read_labs
from autograder.desk.rubric import questions_of
from autograder.desk.states import points_of

KINDS = (
    lambda points, choices: len(points) == 1 and not choices,  # items of equal points
    lambda points, choices: bool(choices),  # two items of which one counts
    lambda points, choices: len(points) > 1 and min(points) > 0 and not choices,
    lambda points, choices: min(points) < 0,  # an item that costs points
)
FULFILLED, COPIED, BLANK = 0.6, 0.1, 0.1
WORDS = "batch cache length layer token weight bound memory compute prompt".split()


def one_of_each_kind():
    """The first question of each kind of rubric that the course has, by name."""
    questions = [each for lab in read_labs() for each in questions_of(lab) if each.items]
    for is_kind in KINDS:
        for each in questions:
            choices = {item.one_of for item in each.items} - {""}
            if is_kind({item.points for item in each.items}, choices):
                yield each.name, each
                break


QUESTIONS = dict(one_of_each_kind())
LABS = tuple(dict.fromkeys(each.lab for each in QUESTIONS.values()))


def fulfilled(items, rng):
    """The places of items that an answer fulfils; of those that exclude each other, the first."""
    places, taken = set(), set()
    for place, item in enumerate(items):
        if rng.random() < FULFILLED and item.one_of not in taken:
            places.add(place)
            taken |= {item.one_of} - {""}
    return places


def answer_of(places, rng):
    """A text that says which items it fulfils, in words that no other student has."""
    points = " ".join(f"It makes point {place + 1}." for place in sorted(places))
    return f"{points} {' '.join(rng.choices(WORDS, k=30))}."


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory, pytestconfig):
    """The output folder, and the items that each answer fulfils, by question and student."""
    out, rng = tmp_path_factory.mktemp("class"), random.Random(0)
    wanted, before = {name: {} for name in QUESTIONS}, {}
    for n in range(120 if pytestconfig.getoption("--large") else 8):
        student, texts = f"student{n:03d}", {}
        for name, question in QUESTIONS.items():
            places, chance = fulfilled(question.items, rng), rng.random()
            if chance < BLANK:
                places, texts[name] = set(), ""
            elif chance < BLANK + COPIED and name in before:
                places, texts[name] = before[name]
            else:
                before[name] = places, answer_of(places, rng)
                texts[name] = before[name][1]
            wanted[name][student] = places
        for lab in LABS:
            record(out, [result_of(student, lab=lab)], answers=texts)
    return out, wanted


def fewest_keys(items, wanted):
    """The keys that choose these items: their digits, or all that earn points but for some."""
    if not wanted:
        return ["0"]
    best = {item.one_of: place for place, item in sorted(enumerate(items), key=_points)}
    everything = {
        place
        for place, item in enumerate(items)
        if item.points > 0 and (not item.one_of or best[item.one_of] == place)
    }
    taken = {items[place].one_of for place in wanted} - {""}
    dropped = {place for place in everything - wanted if items[place].one_of not in taken}
    digits, from_all = (
        [str(place + 1) for place in sorted(places)]
        for places in (wanted, wanted - everything | dropped)
    )
    return min(digits, ["a", *from_all], key=len)


def _points(entry):
    return entry[1].points


def mark_all(page):
    """Mark all that waits, as a reader would; the number of keys of each page of QUESTIONS."""
    strokes = []
    while page.locator("a[autofocus]").count():
        with page.expect_navigation():
            page.keyboard.press("Enter")
        while "/answer/" in page.url:
            question = QUESTIONS.get(page.url.split("/")[-2])
            made = re.findall(r"makes point (\d)", page.inner_text(".answer"))
            wanted = {int(number) - 1 for number in made}
            keys = [*fewest_keys(question.items if question else (), wanted), "Enter"]
            if page.locator("button.main").inner_text().startswith("Save for"):
                keys.append("Enter")  # it shows first how many it saves
            with page.expect_navigation():
                for key in keys:
                    page.keyboard.press(key)
            if question:
                strokes.append(len(keys))
    return strokes


def test_a_class_is_marked_from_the_first_page_to_the_last_by_keyboard(browser, handed_in):
    out, wanted = handed_in
    with served(out, "bea") as (origin, people):
        page, waits = browser.new_page(), []
        page.goto(f"{origin}/?token={people['bea'].token}")
        page.on("requestfinished", lambda asked: waits.extend(waits_of(asked)))
        strokes = mark_all(page)
        page.close()
    for name, students in wanted.items():
        question = QUESTIONS[name]
        states, most = open_store(out).states(question.lab, name), question.points
        points = dict(enumerate(item.points for item in question.items))
        given = {student: (state.points, state.waits) for student, state in states.items()}
        assert given == {
            student: (points_of(places, points, most), False)
            for student, places in students.items()
        }
    assert median(strokes) <= 3
    steps = [saved + shown for (saved, is_form), (shown, _) in pairwise(waits) if is_form]
    n_answers = sum(map(len, wanted.values()))
    print(f"{n_answers} answers on {len(strokes)} pages: {median(strokes)} keys for half of them, "
          f"{max(strokes)} at most; the server takes {median(steps):.0f} ms to the next, "
          f"{quantiles(steps, n=20)[-1]:.0f} ms for 95 of 100")  # fmt: skip


def waits_of(request):
    """Milliseconds from a request to its answer, and whether it was a form; for pages alone."""
    if request.resource_type == "document":
        timing, is_form = request.timing, request.method == "POST"
        yield timing["responseStart"] - timing["requestStart"], is_form
