"""Who marks which question: all people, some people, or each a share of its answers.

A slice is a range of the answers' names. Names are random, so slices are equal but for chance. They
stay the same when an answer is added. Answers of one group are in one slice.
"""

from collections.abc import Mapping, Sequence

from autograder.desk.answers import AnswerSheet
from autograder.desk.tables import DeskTables

Name = tuple[str, str]  # lab and question
_ID_BITS = 64


class Shares:
    """The people whom questions are given to, in the gradebook."""

    def __init__(self, tables: DeskTables) -> None:
        self._tables = tables

    def all(self) -> dict[Name, list[str]]:
        """The people of each question that is given to some, in order."""
        found: dict[Name, list[str]] = {}
        for lab, question, who in self._tables.rows("select * from desk_share order by who"):
            found.setdefault((lab, question), []).append(who)
        return found

    def give(self, people: Mapping[Name, Sequence[str]]) -> None:
        """Give these questions to these people; a question without people belongs to all."""
        with self._tables.writing() as book:
            for name, whom in people.items():
                book.execute("delete from desk_share where lab = ? and question = ?", name)
                book.executemany(
                    "insert into desk_share values (?, ?, ?)", [(*name, who) for who in set(whom)]
                )

    def of(self, sheet: AnswerSheet, who: str) -> set[str]:
        """The names of a question's answers that a person is to mark."""
        people = self.all().get((sheet.question.lab, sheet.question.name))
        if people is None:
            return set(sheet.answers)
        return {name for name in sheet.answers if _owner(sheet, name, people) == who}


def _owner(sheet: AnswerSheet, name: str, people: Sequence[str]) -> str:
    first = sheet.groups[name].members[0]
    return people[int(first, 16) * len(people) >> _ID_BITS]
