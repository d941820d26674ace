"""What a student calls a file decides about nobody else, and about no time of handing in."""

import pytest
from deliveries import LAB, both, roster_of

from autograder.intake.collect import collect

FORMS = {  # each platform's own name of a file that a student calls {file}
    "canvas": "{who}_1{n}_3{n}_{file}",
    "moodle": "{who}_1{n}_assignsubmission_file_{file}",
    "blackboard": "Lab 4_{who}_attempt_2026-10-14-22-03-1{n}_{file}",
    "brightspace": "7{n}-99 - {who} - Oct 14, 2026 1003 PM - {file}",
}
NAMES = (
    "x_ann_attempt_2020-01-02-03-04-05_x.ipynb",
    "Lab 4_ann_attempt_2026-10-14-22-03-10_work.ipynb",
    "x_ann 10_attempt_2020-01-02-03-04-05_x.ipynb",
    "70-99 - ann - Oct 14, 2030 1003 PM - x.ipynb",
    "ann_10_30_x.ipynb",
    "ann_10_assignsubmission_file_x.ipynb",
)


@pytest.mark.parametrize("roster", [None, "name,username\nann,ann\nbob,bob\nmal,mal\n"])
@pytest.mark.parametrize("platform", FORMS)
def test_a_file_called_like_another_platforms_stays_its_owners(platform, roster, tmp_path):
    form = FORMS[platform]
    people = roster_of(tmp_path, roster) if roster else None
    for i, file in enumerate(NAMES):
        honest = {form.format(who=who, n=n, file="work.ipynb"): who
                  for n, who in enumerate(("ann", "bob"))}  # fmt: skip
        forged = {form.format(who="mal", n=2, file=file): "m"}
        (tmp_path / str(i)).mkdir()
        for place in both(tmp_path / str(i), honest | forged):
            found = collect(place, LAB, people)
            got = [(each.student, each.content, each.problem) for each in found]
            assert got == [("ann", b"ann", ""), ("bob", b"bob", ""), ("mal", b"m", "")]
            assert len({each.submitted_at[:10] for each in found}) == 1
