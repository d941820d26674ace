"""Two browsers mark while the desk is killed: what a browser was told to be saved is there once."""

import random
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from desk_server import made_up_class
from desk_store import LAB, open_store
from playwright.sync_api import Error

from autograder.builder.source import find_lab
from autograder.desk.answers import Answers
from autograder.desk.rubric import questions_of
from autograder.desk.states import State
from autograder.desk.tables import DeskTables

NAMES, N_STUDENTS, N_KILLS = ("bea", "carl"), 6, 3
FEWEST, MOST, ROUND_S, TOO_LONG_S = 2, 6, 0.3, 120.0  # marks and seconds until a desk is killed
PAGE_MS = 10_000  # a page may wait for a desk that is gone


@contextmanager
def killed_desk(out, saved, rng):
    """The addresses of a desk that is killed somewhere in the round after its next few marks."""
    command = [sys.executable, "-m", "autograder", "mark", str(out), "--ta", "bea", "--ta", "carl"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    addresses = [re.search(r"http\S+", server.stdout.readline())[0] for _ in NAMES]
    n_wanted, after_s = len(saved) + rng.randint(FEWEST, MOST), ROUND_S * rng.random()

    def kill():
        end_s = time.monotonic() + TOO_LONG_S
        while len(saved) < n_wanted and time.monotonic() < end_s:
            time.sleep(0.005)
        time.sleep(after_s)
        server.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield addresses
    finally:
        killer.join()
        assert server.wait() == -9
        server.stdout.close()


def mark_on(pages, addresses, names, rng):
    """Mark answers of the class in both browsers by turns, until the desk is gone."""
    origin = addresses[0].partition("/?")[0]
    for page, address in zip(pages, addresses, strict=True):
        page.goto(address)
    while True:
        for page in pages:
            page.goto(f"{origin}/answer/{LAB}/growth/{rng.choice(names)}")
            page.keyboard.press(rng.choice("123"))
            if page.locator("button.main").inner_text().startswith("Save for"):
                page.keyboard.press("Enter")  # it shows first how many it saves
        with pages[0].expect_navigation(), pages[1].expect_navigation():
            for page in pages:
                page.keyboard.press("Enter")


def remember(response, saved):
    """Keep the name of a request that the desk has answered by "saved, look at the next"."""
    if response.request.method == "POST" and response.status == 303:
        form = parse_qs(response.request.post_data or "")
        if urlsplit(response.url).path.startswith("/answer/"):
            saved.append(form["request"][0])


def test_every_mark_that_a_browser_saw_saved_is_there_once(browser, tmp_path, pytestconfig):
    made_up_class(tmp_path, N_STUDENTS)
    tables = DeskTables(tmp_path / "course" / "gradebook.db")
    names = list(Answers(tmp_path, tables.secret()).sheet(LAB, "growth").answers)
    contexts, saved, rng = [browser.new_context() for _ in NAMES], [], random.Random(0)
    pages = [context.new_page() for context in contexts]
    for page in pages:
        page.set_default_timeout(PAGE_MS)
        page.on("response", lambda response: remember(response, saved))
    for _ in range(100 if pytestconfig.getoption("--large") else N_KILLS):
        with killed_desk(tmp_path, saved, rng) as addresses, pytest.raises(Error):
            mark_on(pages, addresses, names, rng)
    for context in contexts:
        context.close()
    assert len(saved) >= FEWEST * N_KILLS
    print(f"{len(saved)} marks were acknowledged")
    with tables.reading() as book:
        kept = [request.partition(":")[0] for (request,) in book.execute(
            "select request from desk_act join desk_change on desk_act.id = desk_change.act"
        )]  # fmt: skip
    assert [name for name in saved if kept.count(name) != 1] == []
    assert len(kept) == len(set(kept))
    store = open_store(tmp_path, questions_of(find_lab(LAB)))
    for student, state in store.states(LAB, "growth").items():
        deeds = store.history((LAB, "growth", student))
        before = [State(), *(deed.after for deed in deeds)]
        assert [deed.before for deed in deeds] == before[:-1]
        assert state == before[-1]
