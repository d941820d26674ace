"""The marks that people gave in formgrader, as nbgrader's gradebook has them.

The database is read with its own query: importing nbgrader takes seconds.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.record.database import connected, exists
from autograder.record.results import Result

QUERY = """
    select assignment.name, submitted_assignment.student_id, base_cell.name,
           grade.manual_score, grade.extra_credit, grade.needs_manual_grade, grade_cells.max_score,
           (select manual_comment from comment join base_cell as commented
                on commented.id = comment.cell_id
             where comment.notebook_id = grade.notebook_id and commented.name = base_cell.name)
      from grade
      join base_cell on base_cell.id = grade.cell_id
      join grade_cells on grade_cells.id = grade.cell_id
      join submitted_notebook on submitted_notebook.id = grade.notebook_id
      join submitted_assignment on submitted_assignment.id = submitted_notebook.assignment_id
      join assignment on assignment.id = submitted_assignment.assignment_id
"""


@dataclass(frozen=True)
class HandMark:
    """A mark that a person gave for one answer, or for an exercise in place of the checks.

    points: None if no person gave any; is_current: False if the answer has changed since.
    """

    name: str
    points: float | None
    of: float
    bonus: float = 0.0
    comment: str = ""
    is_current: bool = True

    @property
    def is_given(self) -> bool:
        """Whether a person has left anything here."""
        return self.points is not None or bool(self.bonus or self.comment)

    @property
    def exercise(self) -> str:
        """The exercise whose checks it replaces; a written answer has its own name."""
        return self.name.removeprefix("check_")


ByName = dict[str, HandMark]
ByStudent = dict[tuple[str, str], ByName]  # by lab and student


def marks_by_hand(database: Path, results: Iterable[Result]) -> ByStudent:
    """The marks that people gave, by lab and student, then by name.

    Of a group that handed in one file, the same to the byte, what was given to one member is the
    others', too, unless members were given different marks. Raises: GradebookError.
    """
    marks: ByStudent = {}
    for lab, student, name, points, bonus, needs_hand, of, comment in _rows(database):
        mark = HandMark(name, points, of, bonus or 0.0, comment or "", not needs_hand)
        marks.setdefault((lab, student), {})[name] = mark
    groups: dict[tuple[str, str, int, str], list[ByName]] = {}
    for result in results:
        own = marks.get((result.lab, result.student))
        if own and result.group and (file := _digest_of_file(database.parent, result)):
            groups.setdefault((result.lab, result.group, result.attempt, file), []).append(own)
    for members in groups.values():
        _share(members)
    return marks


def _digest_of_file(course: Path, result: Result) -> str:
    """A digest of the notebook that was handed in; "" if there is none."""
    path = course / "submitted" / result.student / result.lab / f"{result.lab}.ipynb"
    is_notebook = result.file_name.endswith(".ipynb") and path.exists()
    return hashlib.sha256(path.read_bytes()).hexdigest() if is_notebook else ""


def _share(members: Sequence[ByName]) -> None:
    """Give the mark of one member, where they do not differ, to those who have none."""
    for name in {name for own in members for name in own}:
        given = [own[name] for own in members if name in own and own[name].points is not None]
        if given and all(mark == given[0] for mark in given):
            for own in members:
                if name in own and own[name].points is None:
                    own[name] = given[0]


def _rows(database: Path) -> list[tuple]:
    if not exists(database):
        return []
    with connected(database) as book:
        return book.execute(QUERY).fetchall()
