"""Whose id a notebook names: an id of one's own, and no other person's on the class list."""

import json

from deliveries import roster_of

from autograder.builder.source import find_lab
from autograder.course.person import id_digest
from autograder.course.policy import policy_from
from autograder.grading.attempts import with_ids, works_of
from autograder.grading.grade import GradingSettings, grade
from autograder.intake.collect import Submission
from autograder.judging.judge import OTHERS_ID
from autograder.labs.papers.key import solved_answer
from autograder.practice import cell_called, solved_notebook
from autograder.record.results import GRADED, PARTLY
from labkit.labs.papers.items import items

LAB = find_lab("papers")
CLASS = "name,student_id,email\nAnn Ash,R101,ann@u.edu\nBob Birch,R102,bob@u.edu\n"


def handed_in(student_id):
    """Lab 8 with all answers right for an id."""
    notebook = solved_notebook(LAB)
    cell_called(notebook, "student_id")["source"] = f"student_id = {student_id!r}\nlanguage = 'en'"
    for item in items().values():
        for answer in item.answers:
            cell_called(notebook, answer)["source"] = solved_answer(answer, student_id)
    return json.dumps(notebook).encode()


def test_answers_to_a_friends_questions_wait_for_a_person(tmp_path):
    for name, student_id in (("R101", "R101"), ("R102", " r101 "), ("R103", "R101")):
        path = tmp_path / "in" / name / LAB.name / f"{LAB.name}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(handed_in(student_id))
    (tmp_path / "class.csv").write_text(CLASS)
    run = GradingSettings(jobs=1, seed=0, roster=tmp_path / "class.csv")
    found = {each.student: each for each in grade(LAB, tmp_path / "in", tmp_path / "out", run)}
    ann, bob, unlisted = (found[name] for name in ("R101", "R102", "R103"))
    assert (ann.status, ann.score) == (unlisted.status, unlisted.score) == (GRADED, ann.max_score)
    assert OTHERS_ID not in ann.flags + unlisted.flags
    assert bob.status == PARTLY and bob.score == 0 and OTHERS_ID in bob.flags
    assert {check.status for check in bob.checks} == {"undecided"}
    assert OTHERS_ID in bob.checks[0].message


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
