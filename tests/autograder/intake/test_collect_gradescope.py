"""Exports of Gradescope: people, groups, times, earlier attempts."""

import pytest
from deliveries import LAB, both, collected, delivered, zipped

from autograder.intake.collect import NoSubmissions, collect

METADATA = """---
submission_1:
  :submitters:
  - :name: Ann Lee
    :sid: 0012
    :email: ann@x
  - :name: Bob Ray
    :sid:
    :email: bob@x
  :created_at: 2026-10-15 16:19:05.123456000 Z
  :history:
  - :id: 5
    :created_at: &1 2026-10-14 16:19:05.000000000 Z
    :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
      tests: []
submission_2:
  :submitters:
  - :name: Cy Oh
    :sid: '7'
  :created_at: 2026-10-15 09:00:00 -07:00
submission_3:
  :submitters:
  - :name: Dan
"""
GRADESCOPE = {
    "assignment_9_export/submission_metadata.yml": METADATA,
    "assignment_9_export/submission_1/x.ipynb": "g",
    "assignment_9_export/submission_2/sub/04_kv_cache.ipynb": "c",
    "assignment_9_export/submission_4/x.ipynb": "?",
}


def test_gradescope_tells_people_groups_times_and_earlier_attempts(tmp_path):
    for place in both(tmp_path, GRADESCOPE):
        found = {each.student: each for each in collect(place, LAB)}
        assert set(found) == {"0012", "bob@x", "7", "Dan", "submission_4"}
        assert {each.marked_late for each in found.values()} == {None}
        for name in ("0012", "bob@x"):
            each = found[name]
            assert (each.content, each.group, each.attempt) == (b"g", "Ann Lee, Bob Ray", 2)
            assert each.submitted_at == "2026-10-15T16:19:05.123456+00:00"
        assert (found["7"].content, found["7"].group, found["7"].attempt) == (b"c", "", 1)
        assert found["7"].submitted_at == "2026-10-15T09:00:00-07:00"
        assert found["Dan"].problem == "no .ipynb or .py file was handed in"
        assert found["submission_4"].content == b"?"


def test_gradescope_exports_made_over_time(tmp_path):
    def export(day, earlier):
        history = "".join("\n  - :id: 1" for _ in range(earlier)) or " []"
        return zipped({
            "submission_metadata.yml": f"submission_{day}:\n  :submitters:\n  - :sid: '7'\n"
            f"  :created_at: 2026-10-{day} 09:00:00 Z\n  :history:{history}\n",
            f"submission_{day}/x.ipynb": f"of day {day}",
        })  # fmt: skip

    exports = {"b.zip": export(12, 0), "a.zip": export(14, 2), "c.zip": export(14, 2)}
    first, third = collect(delivered(tmp_path, exports), LAB)
    assert (first.attempt, first.content) == (1, b"of day 12")
    assert (third.attempt, third.content) == (3, b"of day 14")


TABLES = [
    "a: [",
    "- 1",
    "\0",
    "a: &a [*a]",
    "? [a]\n: b",
    "- " * 3000,
    "[" * 300_000,
    "%YAML 9\n---",
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[:9])
def test_a_damaged_table_of_gradescope_is_a_sentence(tmp_path, table):
    files = {"submission_metadata.yml": table, "submission_1/x.ipynb": "a"}
    with pytest.raises(NoSubmissions, match=r"submission_metadata\.yml.*export"):
        collect(delivered(tmp_path, files), LAB)


def test_a_table_that_names_no_folder_of_an_export_is_nobodys(tmp_path):
    table = "ann.ipynb:\n  :submitters:\n  - :sid: eve\n"
    files = {"submission_metadata.yml": table, "ann.ipynb": "a", "bob.ipynb": "b"}
    assert collected(delivered(tmp_path, files)) == {"ann": [b"a"], "bob": [b"b"]}
