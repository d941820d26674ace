"""Class lists and policies as a TA may save them, or a bad editor."""

import tempfile
from contextlib import suppress
from pathlib import Path

from damage import damaged
from hypothesis import strategies as st

from autograder.course.person import letters_of
from autograder.course.policy import PolicyError, read_policy
from autograder.course.roster import RosterError, read_roster

TIMES = ("", "2026-10-15T23:59:00+08:00", "2026-11-01T01:30:00", "0001-01-01T00:00:00", "yesterday")
STUDENTS = (
    "ann",
    "Ann Lee",
    "leeann",
    "",
    "Participant 3",
    "Ann Lee 12",
    "雪",
    "' OR 1=1",
    "\ud800",
)


def play_policy(content):
    """A policy with a sentence and a factor for every time, or a PolicyError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "policy.toml")
        path.write_bytes(content)
        try:
            policy = read_policy(path)
        except PolicyError as error:
            assert str(error)
            return
        assert repr(read_policy(path)) == repr(policy)
        for student in ("ann", "bob"):
            for time in TIMES:
                for marked_late in (False, True):
                    standing = policy.standing("01_memory", student, time, marked_late)
                    assert 0 <= standing.late_factor <= 1
                    assert standing.sentence or standing.late_factor == 1


def play_roster(content):
    """People who are found by what the list says of them, or a RosterError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "roster.csv")
        path.write_bytes(content)
        try:
            roster = read_roster(path)
        except RosterError as error:
            assert str(error)
            return
        assert read_roster(path) == roster
        assert roster.people
        for person in roster.people:
            for name in filter(letters_of, (person.student_id, person.login, person.email)):
                assert person in roster.matches(name)
        for student in STUDENTS:
            with suppress(RosterError):
                assert roster.find(student, f"{student}_12_34_x.ipynb") in roster.people


toml_values = st.sampled_from([
    '"Asia/Taipei"', '"America"', '"../x"', '"UTC"', '"\\u0000"', '""', '"best"', '"last"',
    '"refuse"', "true", "{ per_day = 0.1, at_most = 0.5 }", "{ per_day = nan }", "10", "-1",
    "1e999", "nan", "9" * 5000, "[]", "2026-10-15T23:59:00", "2026-10-15T23:59:00Z",
    "2026-03-29T02:30:00", "0001-01-01T00:00:00", "9999-12-31T23:59:59", "2026-10-15", "23:59:00",
    "'2026-10-15'", '"Europe/Berlin"', "0x10", "[[1]]",
])  # fmt: skip
toml_keys = st.sampled_from(
    "timezone attempts late grace_minutes bonus_at_most 01_memory 99_none '' a.b ann".split()
)
toml_lines = st.builds(
    lambda key, value: f"{key} = {value}", toml_keys, toml_values
) | st.sampled_from(
    [
        "[deadlines]",
        "[extensions.ann]",
        "[extensions]",
        "[extensions.bob]",
        "[[deadlines]]",
        "# x",
        "[" * 999,
    ]
)
likely_policy = st.builds(
    lambda zone, late, deadline, extra, more: f"timezone = {zone}\nlate = {late}\n[deadlines]\n"
    f"01_memory = {deadline}\n[extensions.ann]\n01_memory = {extra}\n{more}",
    *[toml_values] * 4, toml_lines,
)  # fmt: skip
any_policy = damaged(
    (likely_policy | st.lists(toml_lines, max_size=8).map("\n".join)).map(str.encode)
)

headings = st.sampled_from([
    "Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Identifier", "Full name",
    "Email address", "Name", "SID", "Email", "First Name", "Last Name", "Group", "學號", "姓名", "",
    "Last modified (submission)",
])  # fmt: skip
table_cells = st.sampled_from([
    "Ann Lee", "Lee, Ann", "Bob", "Participant 3", "12", "a@b", "Points Possible", "Student, Test",
    "", "x" * 200_000, '"', "a\nb", "雪", "=1+1", "2026-10-01 10:00", "\x00", "\r", "Lee, Ann, Jr.",
    "ANN LEE", " ",
]) | st.text(max_size=4)  # fmt: skip


@st.composite
def tables(draw):
    """A header and lines of it, as some program writes them."""
    names = draw(st.lists(headings, min_size=1, max_size=6))
    rows = draw(st.lists(st.lists(table_cells, max_size=len(names) + 1), max_size=5))
    comma = draw(st.sampled_from([",", ",", ";", "\t"]))
    quoted = [
        comma.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in (names, *rows)
    ]
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "big5"]))
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join(quoted).encode(encoding, "replace")


any_roster = damaged(tables())
