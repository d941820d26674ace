"""Moodle's grading worksheet, in any language of Moodle.

Moodle translates its headings, and the translations change from release to release. What stays is
the order: the number of a participant, who that is, the state, the grade, the largest grade,
whether the grade can be changed, when the work was handed in, when it was graded, comments. So a
worksheet is recognised by what stands below its headings, and headings only decide where that
leaves a doubt. (`mod/assign/gradingtable.php` makes the columns.)
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autograder.course.person import letters_of
from autograder.course.times import parse_time

NUMBERED = re.compile(r"(?P<word>[^0-9]*[^0-9\s])\s*(?P<number>[0-9]+)")
POINTS = re.compile(r"[0-9]{1,6}(?:[.,][0-9]{1,5})?")
NOTHING = "-"  # what Moodle writes for no time and no grade
MAX_FLAG_CHARS = 20
PARTICIPANT = {
    "participant", "參與者", "参与者", "参加者", "teilnehmer", "teilnehmerin", "participante",
    "partecipante", "deelnemer", "uczestnik", "участник", "참가자", "참여자",
}  # fmt: skip
NO = {
    "no", "否", "不", "nein", "non", "いいえ", "não", "nee", "nie", "нет", "아니오", "아니요",
}  # fmt: skip
HEADINGS = {
    "grade": ("grade", "成績", "成绩", "bewertung", "note", "calificación", "評点", "評定", "nota",
              "valutazione", "cijfer", "beoordeling", "ocena", "оценка", "성적"),
    "maximum": ("maximum grade", "最高成績", "最高分數", "最高成绩", "maximale bewertung",
                "bestwertung", "höchste bewertung", "note maximale", "calificación máxima",
                "最大評点", "nota máxima", "valutazione massima", "maximumcijfer", "maximum cijfer",
                "maksymalna ocena", "максимальная оценка", "최고 성적"),
    "is_open": ("grade can be changed", "可以更改成績", "成績可以更改", "可以更改成绩",
                "允许更改成绩", "bewertung kann geändert werden",
                "la note peut être modifiée",
                "la calificación puede ser cambiada", "nota pode ser alterada"),
}  # fmt: skip


@dataclass(frozen=True)
class Worksheet:
    """Where the parts of a worksheet stand, by column.

    word: what it calls a participant; places: "lms_id", "name", "email", "grade", "maximum",
    "is_open" and "submitted_at", as far as they are there.
    """

    word: str
    places: Mapping[str, int]


def heading_of(cell: str) -> str:
    """A heading as it is compared."""
    plain = unicodedata.normalize("NFKC", cell).casefold().replace("_", " ")
    return " ".join(plain.replace("（", "(").replace("）", ")").split())


def is_participant(label: str) -> bool:
    """Whether a name is only Moodle's word for a participant in blind marking."""
    return letters_of(label) in PARTICIPANT


def number_of(cell: str) -> str:
    """The number in "Participant 123"; "" if there is none."""
    match = NUMBERED.fullmatch(cell.strip())
    return match["number"] if match else ""


def worksheet_in(
    header: Sequence[str], lines: Sequence[Sequence[str]], known: Mapping[str, int]
) -> Worksheet | None:
    """The worksheet that a table is, None if it is another table.

    known: the columns that the headings name already, by what they hold. Beside the word of Moodle
    in one of its languages, one more sign must be there; beside any other word before the numbers,
    as in "B1234" or "Team 1", all of them.
    """
    columns = [[line[i].strip() if i < len(line) else "" for line in lines]
               for i in range(len(header))]  # fmt: skip
    first = [NUMBERED.fullmatch(cell) for cell in columns[0]] if columns and lines else []
    words = {match and match["word"] for match in first}
    if len(words) != 1 or None in words or len(set(columns[0])) < len(lines):
        return None
    named = {role: place for role, place in known.items() if place}  # not the first column
    for role, headings in HEADINGS.items():
        place = next((i for i, cell in enumerate(header) if heading_of(cell) in headings), 0)
        if place:
            named[role] = place
    seen = _by_shape(columns, named.get("maximum"))
    places = {"lms_id": 0, **seen, **named}
    signs = places.keys() & {"maximum", "is_open", "submitted_at"}
    word = words.pop()
    if len(signs) < (1 if is_participant(word) else 3):
        return None
    return Worksheet(word, places)


def _by_shape(columns: list[list[str]], maximum: int | None) -> dict[str, int]:
    """The parts that the contents of the cells show. maximum: its place, if it is known."""
    seen: dict[str, int] = {}
    times = _places(columns, _are_times)
    if maximum is None:
        worth = _places(columns, _are_one_number)
        before = [place for place in worth if not times or place < times[0]]
        maximum = max(before or worth, default=None)
    if maximum is not None:
        seen |= {"maximum": maximum} | ({"grade": maximum - 1} if maximum > 1 else {})
        after = [place for place in times if place > maximum]
        if after:
            seen["submitted_at"] = after[0]
        flag = after[0] - 1 if after else maximum + 1
        if maximum < flag < len(columns) and _are_flags(columns[flag]):
            seen["is_open"] = flag
    if addresses := _places(columns, _are_addresses):
        seen["email"] = addresses[0]
    if len(columns) > 1 and _are_names(columns[1]):
        seen["name"] = 1
    return seen


def _places(columns: list[list[str]], are: Callable[[list[str]], bool]) -> list[int]:
    return [place for place, cells in enumerate(columns) if place and are(cells)]


def _are_times(cells: list[str]) -> bool:
    told = [cell for cell in cells if cell != NOTHING]
    return bool(told) and all(map(parse_time, told))


def _are_one_number(cells: list[str]) -> bool:
    return len(set(cells)) == 1 and bool(POINTS.fullmatch(cells[0])) and set(cells[0]) > {"0"}


def _are_flags(cells: list[str]) -> bool:
    return len(set(cells)) < 3 and all(
        0 < len(cell) < MAX_FLAG_CHARS and not POINTS.fullmatch(cell) and cell != NOTHING
        for cell in cells
    )


def _are_addresses(cells: list[str]) -> bool:
    return all("@" in cell for cell in cells)


def _are_names(cells: list[str]) -> bool:
    """Whether these are names and not states, of which many are equal or count days."""
    return 2 * len(set(cells)) > len(cells) > 2 and all(
        cell and not re.search("[0-9@]", cell) for cell in cells
    )
