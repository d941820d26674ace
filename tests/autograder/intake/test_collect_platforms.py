"""Blackboard, Brightspace and GitHub Classroom; and deliveries of which nobody can tell the form.

As reported for other programs: nbgrader's zipcollect, squell/bb-scripts 48 and 64,
earthlab/abc-classroom 59.
"""

from datetime import datetime

import pytest
from deliveries import LAB, both, collected, delivered, roster_of, zipped
from hypothesis import given
from hypothesis import strategies as st

from autograder.course.policy import policy_from
from autograder.intake.collect import NoSubmissions, collect

BLACKBOARD = {
    f"{LAB}_ann_attempt_2026-10-14-22-03-11_{LAB}.ipynb": "old",
    f"{LAB}_ann_attempt_2026-10-14-22-03-11.txt": "Name: Ann Lee (ann)\nAssignment: Lab 4\n",
    f"{LAB}_ann_attempt_2026-10-15-23-59-59_{LAB}.ipynb": "new",
    f"{LAB}_ann_attempt_2026-10-15-23-59-59_mem.py": "m",
    f"{LAB}_ann_attempt_2026-10-15-23-59-59.txt": "Name: Ann Lee (ann)\n",
    f"{LAB}_bob_attempt_2026-10-16-00-00-01_work.zip": zipped({"x.ipynb": "b"}),
    f"{LAB}_cy_attempt_2026-10-14-09-00-00.txt": "Name: Cy Oh (cy)\nSubmission Text: hello\n",
}
BRIGHTSPACE = {
    "11-99 - Ann Lee - Oct 14, 2026 1003 PM/x.ipynb": "old",
    "11-99 - Ann Lee - Oct 15, 2026 1159 PM/x.ipynb": "new",
    "12-99 - Ann Lee - Oct 14, 2026 905 AM/x.ipynb": "other",
    "13-99 - 王小明 - 16 October, 2026 0005/x.ipynb": "w",
    "index.html": "<html>",
}
CLASSROOM = {
    "04-kv-cache-annlee/04_kv_cache.ipynb": "a",
    "04-kv-cache-annlee/.github/classroom/autograding.json": "{}",
    "04-kv-cache-bob-ray/04_kv_cache.ipynb": "b",
    "04-kv-cache-bob-ray/README.md": "r",
}


def told(place, roster=None):
    return [
        (each.student, each.content or each.problem, each.attempt, each.submitted_at)
        for each in collect(place, LAB, roster)
    ]


def test_blackboards_attempts_are_each_persons_with_their_times(tmp_path):
    for place in both(tmp_path, BLACKBOARD):
        assert told(place) == [
            ("ann", b"old", 1, "2026-10-14T22:03:11"),
            ("ann", b"new", 2, "2026-10-15T23:59:59"),
            ("bob", b"b", 1, "2026-10-16T00:00:01"),
            ("cy", f"no .ipynb or .py file was handed in, only {LAB}_cy_attempt_2026-10-14-09-00-00"
                   ".txt", 1, "2026-10-14T09:00:00"),
        ]  # fmt: skip
        (latest,) = [each for each in collect(place, LAB) if each.content == b"new"]
        assert latest.extra == {"mem.py": b"m"}


def test_blackboards_times_are_those_of_the_course(tmp_path):
    policy = policy_from({
        "timezone": "Asia/Taipei", "late": "refuse",
        "deadlines": {LAB: datetime(2026, 10, 15, 23, 59, 59)},
    })  # fmt: skip
    factors = {
        each.content: policy.standing(LAB, each.student, each.submitted_at, None).late_factor
        for each in collect(delivered(tmp_path, BLACKBOARD), LAB)
    }
    assert (factors[b"new"], factors[b"b"]) == (1.0, 0.0)


def test_a_user_of_blackboard_is_called_as_its_own_text_says_and_no_two_become_one(tmp_path):
    files = {}
    for user in ("b_lee", "c_lee", "lee"):
        files[f"Lab 4_{user}_attempt_2026-10-14-22-03-11_x.ipynb"] = user
        files[f"Lab 4_{user}_attempt_2026-10-14-22-03-11.txt"] = f"Name: Lee ({user})\nDate: x\n"
    place = delivered(tmp_path / "in", files)
    assert collected(place) == {name: [name.encode()] for name in ("b_lee", "c_lee", "lee")}
    for path in place.glob("*.txt"):
        path.unlink()
    assert collected(place) == {
        f"lee Lab 4_{name}": [name.encode()] for name in ("b_lee", "c_lee", "lee")
    }


def test_brightspace_tells_people_of_one_name_apart_and_reads_their_times(tmp_path):
    for place in both(tmp_path, BRIGHTSPACE):
        assert told(place) == [
            ("Ann Lee 11", b"old", 1, "2026-10-14T22:03:00"),
            ("Ann Lee 11", b"new", 2, "2026-10-15T23:59:00"),
            ("Ann Lee 12", b"other", 1, "2026-10-14T09:05:00"),
            ("王小明", b"w", 1, "2026-10-16T00:05:00"),
        ]
    files = {"99-11 - Ann Lee - Oct 14, 2026 1003 PM/x.ipynb": "a",
             "99-12 - Ann Lee - Oct 14, 2026 1003 PM/x.ipynb": "b"}  # fmt: skip
    assert set(collected(delivered(tmp_path / "other", files))) == {"Ann Lee 11", "Ann Lee 12"}


def test_brightspaces_class_list_finds_its_people(tmp_path):
    table = "OrgDefinedId,Username,Last Name,First Name,Email\n#0012,#annlee,Lee,Ann,ann@x\n"
    (ann,) = roster_of(tmp_path, table).people
    assert (ann.student_id, ann.login, ann.name) == ("0012", "annlee", "Lee, Ann")


def test_repositories_of_github_classroom_are_called_by_their_handles(tmp_path):
    for place in both(tmp_path, CLASSROOM):
        assert collected(place) == {"annlee": [b"a"], "bob-ray": [b"b"]}
    nested = {f"04-kv-cache-submissions/{name}": text for name, text in CLASSROOM.items()}
    assert collected(delivered(tmp_path / "cloned", nested)) == {
        "annlee": [b"a"],
        "bob-ray": [b"b"],
    }


ROSTER = ('identifier,github_username,github_id,name\n"lee@x.edu","annlee","77",""\n'
          '"ray@x.edu","bob-ray","78","Bob Ray"\n"no@x.edu","","",""\n')  # fmt: skip


def test_the_roster_of_github_classroom_names_people_by_handle_under_any_title(tmp_path):
    roster = roster_of(tmp_path, ROSTER)
    assert (roster.kind, [each.student_id for each in roster.people]) == (
        "classroom", ["lee@x.edu", "ray@x.edu", "no@x.edu"],
    )  # fmt: skip
    files = {"lab-4-AnnLee/x.ipynb": "a", "lab-4-bob-ray/x.ipynb": "b", "lab-4-cy-ray/x.ipynb": "c"}
    place = delivered(tmp_path / "in", files)
    assert collected(place, roster) == {"AnnLee": [b"a"], "bob-ray": [b"b"], "cy-ray": [b"c"]}
    assert roster.find("AnnLee").student_id == "lee@x.edu"


@pytest.mark.parametrize(
    "name", ["ann_attempt_2026-10-14", "ann-attempt-20261014", "attempt_14-10"]
)
def test_a_day_is_no_number_of_an_attempt(tmp_path, name):
    assert collected(delivered(tmp_path, {f"{name}.ipynb": "a"})) == {name: [b"a"]}


def test_a_delivery_of_an_unknown_form_is_refused_with_the_known_ones(tmp_path):
    files = {f"hw/s{n}_{n}.ipynb": str(n) for n in range(9)} | {"hw/a/list.txt": "x"}
    roster = roster_of(tmp_path, "name,id\nAnn,1\nBob,2\n")
    inner = delivered(tmp_path / "one", {f"all/{LAB}/{n}.ipynb": str(n) for n in range(9)})
    with pytest.raises(NoSubmissions) as refused:
        collect(inner, LAB)
    assert "its 9 notebooks seem to be of 1 person, such as all" in str(refused.value)
    with pytest.raises(NoSubmissions) as strangers:
        collect(delivered(tmp_path / "two", files), LAB, roster)
    assert "none of the 10 people in it" in str(strangers.value)
    for words in (str(refused.value), str(strangers.value)):
        assert "looks like no delivery that I know" in words
        for known in ("Canvas", "Blackboard", "Brightspace", "GitHub Classroom", "STUDENT/LAB"):
            assert known in words


def test_two_notebooks_of_one_person_are_still_a_row_for_a_person_to_decide(tmp_path):
    place = delivered(tmp_path, {"ann/a.ipynb": "1", "ann/b.ipynb": "2", "bob/no.txt": "n"})
    assert "several notebooks" in collected(place)["ann"][0]


HANDLES = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,5})?", fullmatch=True)
NAMES = st.text("abé王小明Д'", min_size=1, max_size=6).filter(lambda name: name.strip("'"))
USERS = st.from_regex(r"[a-z]{1,4}(_[a-z0-9]{1,4})?", fullmatch=True)
FORMS = {  # each person's number, name and the number of the attempt
    "nbgrader": (NAMES, "{name}/attempt_{k}/04_kv_cache/x.ipynb"),
    "exchange": (NAMES, "{name}+04_kv_cache+2026-10-1{k} 12:00:00 UTC/x.ipynb"),
    "flat": (HANDLES, "{name}_attempt_{k}.ipynb"),
    "canvas": (HANDLES.map(lambda name: name.replace("-", "")), "{name}_{n}_{n}{k}_x.ipynb"),
    "moodle": (NAMES, "{name}_{n}_assignsubmission_file/x.ipynb"),
    "blackboard": (USERS, "04_kv_cache_{name}_attempt_2026-10-1{k}-22-03-11_x.ipynb"),
    "blackboard, other title": (USERS, "Lab 4_1_{name}_attempt_2026-10-1{k}-22-03-11_x.ipynb"),
    "brightspace": (NAMES, "{n}-99 - {name} - Oct 1{k}, 2026 1003 PM/x.ipynb"),
    "brightspace, flat": (NAMES, "99-{n} - {name} - Oct 1{k}, 2026 1003 PM - x.ipynb"),
    "classroom": (HANDLES, "04-kv-cache-{name}/x.ipynb"),
    "classroom, other title": (HANDLES, "lab-4-{name}/x.ipynb"),
}
ONCE = ("canvas", "moodle", "classroom", "classroom, other title")  # a download has the latest only
NUMBERED = ("canvas", "moodle", "brightspace", "brightspace, flat")  # tells people of a name apart


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_no_two_people_become_one_and_no_notebook_is_lost(tmp_path_factory, form, data):
    names, path = FORMS[form]
    people = data.draw(st.lists(names, min_size=2, max_size=5, unique=form not in NUMBERED))
    files, handed_in = {}, {}
    for n, name in enumerate(people):
        n_attempts = 1 if form in ONCE else data.draw(st.integers(1, 3))
        for k in range(1, n_attempts + 1):
            content = f"{n} {k}".encode()
            files[path.format(name=name, n=n + 10, k=k)] = content
            handed_in.setdefault(n, []).append(content)
    place = tmp_path_factory.getbasetemp() / "delivery.zip"
    place.write_bytes(zipped(files))
    assert sorted(collected(place).values()) == sorted(handed_in.values())
