"""Whose id a notebook names: an id of one's own, and no other person's on the class list."""

import json

from deliveries import roster_of

from autograder.builder.source import find_lab
from autograder.course.person import id_digest
from autograder.course.policy import policy_from
from autograder.grading.attempts import with_ids, works_of
from autograder.grading.grade import GradingSettings, grade
from autograder.intake.collect import Submission
from autograder.judging.judge import ID_UNSEEN, OTHERS_ID
from autograder.labs.papers.key import solved_answer
from autograder.practice import cell_called, solved_notebook
from autograder.record.results import GRADED, PARTLY
from labkit.labs.papers.items import items

LAB = find_lab("papers")
CLASS = "name,student_id,email\nAnn Ash,R101,ann@u.edu\nBob Birch,R102,bob@u.edu\n"
ENDS_AT_A_LOOK = """
import os
from labkit.bridge.executor import Executor
plain = Executor.handle
def handle(self, message, blob):
    if message.get("target") == {"$name": "student_id"} and not os.path.exists("seen"):
        open("seen", "w").close()
        os._exit(0)
    return plain(self, message, blob)
Executor.handle = handle
"""


def handed_in(student_id, more=""):
    """Lab 8 with all answers right for an id. more: code below it."""
    notebook = solved_notebook(LAB)
    first = f"student_id = {student_id!r}\nlanguage = 'en'\n{more}"
    cell_called(notebook, "student_id")["source"] = first
    for item in items().values():
        for answer in item.answers:
            cell_called(notebook, answer)["source"] = solved_answer(answer, student_id)
    return json.dumps(notebook).encode()


def test_answers_to_a_friends_questions_wait_for_a_person(tmp_path):
    ids = {"R101": ("R101",), "R102": (" r101 ",), "R103": ("R101",)}
    for name, own in (ids | {"R104": ("R101", ENDS_AT_A_LOOK)}).items():
        path = tmp_path / "in" / name / LAB.name / f"{LAB.name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(handed_in(*own))
    (tmp_path / "class.csv").write_text(f"{CLASS}Dan Dale,R104,dan@u.edu\n")
    run = GradingSettings(jobs=1, seed=0, roster=tmp_path / "class.csv")
    found = {each.student: each for each in grade(LAB, tmp_path / "in", tmp_path / "out", run)}
    ann, bob, unlisted, dan = (found[f"R10{i}"] for i in range(1, 5))
    assert (ann.status, ann.score) == (unlisted.status, unlisted.score) == (GRADED, ann.max_score)
    assert OTHERS_ID not in ann.flags + unlisted.flags
    assert bob.status == PARTLY and bob.score == 0 and OTHERS_ID in bob.flags
    assert {check.status for check in bob.checks} == {"undecided"}
    assert OTHERS_ID in bob.checks[0].message
    assert dan.status == PARTLY and dan.score == 0 and ID_UNSEEN in dan.flags


def test_ids_of_a_group_are_those_of_its_members_and_the_list_itself_stays_here(tmp_path):
    roster = roster_of(tmp_path, CLASS + "Cy Cole,R103,cy@u.edu\n")
    names = ("Ann Ash", "Bob Birch", "Cy Cole", "Nobody")
    groups = dict.fromkeys(names[:2], "One")
    given = [Submission(name, "x.ipynb", group=groups.get(name, "")) for name in names]
    ann, bob, cy, nobody = with_ids(given, roster)
    r101, r102, r103 = map(id_digest, ("R101", " r102", "R103"))
    assert {r101, r102} <= {*ann.own_ids} == {*bob.own_ids}
    assert {r103} <= {*cy.own_ids} == {*ann.others_ids}
    assert {r101, r102} <= {*cy.others_ids} == {*ann.own_ids}
    assert nobody.own_ids == nobody.others_ids == ()
    assert "r101" not in json.dumps([ann.own_ids, ann.others_ids]).casefold()


def test_equal_files_have_one_outcome_for_those_who_share_their_ids(tmp_path):
    given = [Submission(name, "x.ipynb", b"{}") for name in ("Ann Ash", "Bob Birch")]
    listed = with_ids(given, roster_of(tmp_path, CLASS))
    longer = with_ids(given, roster_of(tmp_path, CLASS + "Cy Cole,R103,cy@u.edu\n"))
    keys = [
        [work.key for work in works_of(each, LAB.name, policy_from({}), b"")]
        for each in (given, listed, longer)
    ]
    assert keys[0][0] == keys[0][1]
    assert keys[1][0] != keys[1][1]
    assert keys[1] == keys[2]  # another person on the list changes nobody's outcome
