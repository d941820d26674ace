"""Slots are forks of one template, and what student code finds in its memory is no secret."""

import json
import os
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from matplotlib.font_manager import json_load

from autograder.builder.source import find_lab
from autograder.grading.pool import SteadySlot, processors, uid_of
from autograder.grading.scratch import scratch_folder
from autograder.grading.slot_files import write_slot_files
from autograder.intake.collect import Submission
from autograder.judging.child import processes
from autograder.judging.jobs import SlotSettings
from autograder.judging.start.__main__ import FONTS, keep_fonts
from autograder.judging.start.template import Template, shared_template
from autograder.judging.wall import strongest_rung
from autograder.practice import insert, solved_notebook

LAB = find_lab("01")
FULL_SCORE = sum(cell.points for cell in LAB.marked)
SEED = 8_121_723_409  # as text, in what a slot is told
NAME = "someone-whom-nobody-else-knows"
READ_OWN_MEMORY = r"""
import re
own = "-".join(["a", "word", "of", "this", "cell"])
patterns = {  # none of them holds the word that it finds
    "own": rb"a[-]word[-]of[-]this[-]cell",
    "seed": rb"812[1]723409",
    "name": rb"someone[-]whom[-]nobody",
    "cases": rb"autograder[.]labs[.]memory[.]cases",
}
found = set()
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for first, last in re.findall(r"^(\w+)-(\w+) rw", maps.read(), re.MULTILINE):
        try:
            memory.seek(int(first, 16))
            content = memory.read(int(last, 16) - int(first, 16))
        except (OSError, OverflowError):
            continue
        found |= {name for name, pattern in patterns.items() if re.search(pattern, content)}
print("found", *sorted(found))
"""


@pytest.fixture(scope="module")
def settings():
    with scratch_folder() as folder:
        yield SlotSettings(
            lab=LAB.name, **write_slot_files(LAB, folder), seed=SEED, rung=strongest_rung()
        )


def submission(code="pass"):
    notebook = solved_notebook(LAB)
    insert(notebook, code, after="setup")
    return Submission(NAME, f"{LAB.name}.ipynb", json.dumps(notebook).encode())


@contextmanager
def slot_of(settings):
    """A slot, and the processes that its start has added below this one: first the slot's own."""
    template = shared_template()
    template.fork().close()  # it has imported everything
    before = set(processes.descendants(os.getpid()))
    with closing(SteadySlot(settings)) as slot:
        slot.warm()
        new = [pid for pid in processes.descendants(os.getpid()) if pid not in before]
        yield slot, new


def ends(pids):
    """Whether all of them end within seconds."""
    for _ in range(100):
        if not any(processes.is_running(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_student_code_finds_nothing_of_the_judges_in_its_memory(settings):
    with slot_of(settings) as (slot, _):
        outcome = slot.grade(submission(READ_OWN_MEMORY))
    texts = [o.get("text", "") for cell in outcome.notebook for o in cell.get("outputs", ())]
    assert [text for text in texts if text.startswith("found")] == ["found own\n"]


def test_student_code_stays_on_the_slots_processor(settings):
    cpu = max(os.sched_getaffinity(0))
    with slot_of(replace(settings, cpu=cpu)) as (slot, new):
        outcome = slot.grade(submission("import os\nprint('on', *os.sched_getaffinity(0))"))
        assert all(os.sched_getaffinity(pid) == {cpu} for pid in new)
    texts = [o.get("text", "") for cell in outcome.notebook for o in cell.get("outputs", ())]
    assert [text for text in texts if text.startswith("on")] == [f"on {cpu}\n"]


@pytest.mark.parametrize("passed_over", [(), ("copy.ipynb",)])
def test_a_row_names_what_came_with_its_notebook_and_no_digest_of_anybodys_id(
    settings, passed_over
):
    digest = "69db31976ead37b8"
    with slot_of(settings) as (slot, _):
        handed_in = replace(submission(), passed_over=passed_over, others_ids=(digest,))
        flags = " ".join(slot.grade(handed_in).result.flags)
    assert digest not in flags
    assert ("not graded: copy.ipynb;" in flags) == bool(passed_over)


def test_gradings_side_by_side_begin_at_different_processors_and_have_users_of_their_own(
    monkeypatch,
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3, 5}, raising=False)
    found, users = [], set()
    for pid in (6, 7, 8):
        monkeypatch.setattr(os, "getpid", lambda pid=pid: pid)
        found.append(processors(2))
        users |= {uid_of(0), uid_of(1)}
    assert found == [[2, 3], [3, 5], [5, 2]]
    assert len(users) == 6
    assert processors(4) == [5, 2, 3, None]


def test_a_closed_slot_leaves_the_template_and_nothing_else(settings):
    with slot_of(settings) as (slot, new):
        assert slot.grade(submission()).result.score == FULL_SCORE
        assert len(new) == 3  # judge, keeper, zygote
        template = shared_template()
    assert ends(new)
    assert shared_template() is template


def test_the_machines_fonts_are_looked_at_once(tmp_path):
    for file in FONTS.glob("fontlist-*.json"):
        file.unlink()
    with closing(Template()) as template:
        template.fork().close()  # it has imported everything
    keep_fonts(FONTS, tmp_path)  # as the next template does
    (kept,) = tmp_path.iterdir()
    assert json_load(kept).ttflist  # as matplotlib reads it
    before = [file.stat().st_mtime_ns for file in FONTS.iterdir()]
    keep_fonts(tmp_path, FONTS)
    assert [file.stat().st_mtime_ns for file in FONTS.iterdir()] == before


def test_when_the_template_is_killed_its_slots_end_and_the_next_grading_has_new_ones(settings):
    with slot_of(settings) as (slot, new):
        template = shared_template()
        template.close()
        assert ends(new)
        assert slot.grade(submission()).result.score == FULL_SCORE
        assert shared_template() is not template
