"""Who is in the class: the tables that learning platforms export, and any other with a header.

A `Roster` finds the person of a submission, even if the platform changed the name in its file
names. If no person or several fit, this is reported. It never guesses.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autograder.course.person import Person, canvas_name, exactly, letters_of
from autograder.course.times import iso_time
from autograder.course.worksheet import heading_of, is_participant, number_of, worksheet_in
from autograder.errors import Refusal

__all__ = ["Person", "Roster", "RosterError", "canvas_name", "read_roster"]

MAX_BYTES = 32 << 20
CANVAS_NUMBER = re.compile(r"(?P<name>.+?)_(?:LATE_)?(?P<number>[0-9]+)_[0-9]+_.+", re.DOTALL)
CANVAS_TEST_STUDENT = "Student, Test"
SPLIT_NAME = {"lastname", "firstname"}  # in place of "student", where Canvas is set so
CLASSROOM = {"identifier", "github username"}
BRIGHTSPACE_MARKED = ("student_id", "login")
NAME_AND_NUMBER = re.compile(r"(?P<name>.+) (?P<number>[0-9]+)", re.DOTALL)
COLUMNS = {
    "name": ("student", "full name", "student name", "name", "names", "姓名", "學生姓名", "全名",
             "vollständiger name", "nom complet", "nombre completo", "nome completo", "フルネーム",
             "氏名", "volledige naam", "imię i nazwisko", "полное имя", "имя и фамилия", "성명"),
    "first": ("firstname", "first name", "given name", "名字", "名", "vorname"),
    "last": ("lastname", "last name", "surname", "family name", "姓氏", "姓", "nachname"),
    "student_id": ("sis user id", "id number", "sid", "student id", "student number", "student no",
                   "學號", "学号", "orgdefinedid", "id-nummer", "matrikelnummer",
                   "numéro d'identification", "número de id", "número de identificación",
                   "número de identificação", "idナンバー", "学籍番号", "numer id", "학번",
                   "user id", "id"),
    "lms_id": ("canvas user id", "identifier"),
    "email": ("email", "email address", "e-mail", "電子郵件", "電子郵件地址", "電子郵件信箱",
              "信箱", "电子邮件地址", "电子邮件", "e-mail-adresse", "adresse de courriel",
              "adresse e-mail",
              "dirección de correo", "correo electrónico", "メールアドレス", "endereço de email",
              "indirizzo email", "e-mailadres", "adres e-mail", "адрес электронной почты",
              "이메일 주소", "이메일"),
    "login": ("sis login id", "login id", "username", "login", "帳號", "github username"),
    "group": ("group name", "group", "groups", "team", "組別", "小組", "群組", "小组", "gruppe",
              "groupe", "grupo", "グループ", "gruppo", "groep", "grupa", "группа", "모둠", "그룹"),
    "section": ("section", "sections"),
    "submitted_at": ("last modified (submission)", "submission time", "submitted at",
                     "最後修改(學生)", "最後修改的(作業)", "上次修改(作业)", "最后修改(学生)",
                     "zuletzt geändert (abgabe)", "dernière modification (travail remis)",
                     "última modificación (entrega)", "最終更新日時 (提出)",
                     "última modificação (envio)", "ultima modifica (consegna)",
                     "laatst gewijzigd (inzending)", "ostatnia modyfikacja (zadanie)",
                     "последнее изменение (ответ)"),
}  # fmt: skip


class RosterError(Refusal, ValueError):
    """A class list that cannot be read, or a student whom it does not name clearly."""


@dataclass(frozen=True)
class Roster:
    """The people of a class, in the order of the file.

    columns: the header as it stands; kind: "canvas", "moodle", "gradescope", "classroom" (GitHub's)
    or "table"; extra_rows: Canvas's lines about no person, such as the points possible; source: the
    file, for messages; parts: the columns of a worksheet of Moodle, by what they hold.
    """

    people: list[Person]
    columns: list[str]
    kind: str
    extra_rows: list[dict[str, str]] = field(default_factory=list)
    source: str = "the roster"
    parts: dict[str, str] = field(default_factory=dict)

    def find(self, student: str, file_name: str = "") -> Person:
        """The one person that a submission belongs to.

        file_name: a name by Canvas, with a number that distinguishes people of the same name.
        Raises: RosterError if no person fits, or several do.
        """
        number = ""
        people = self.matches(student)
        named = NAME_AND_NUMBER.fullmatch(student)
        if not people and named:
            number = named["number"]
            people = self.matches(named["name"], number)
        on_canvas = CANVAS_NUMBER.fullmatch(file_name)
        if people and on_canvas and letters_of(student) == letters_of(on_canvas["name"]):
            number = on_canvas["number"]
            people = self.matches(student, number)
        if len(people) == 1:
            return people[0]
        if not people:
            numbered = f", number {number}" if number else ""
            raise RosterError(f"{self.source} names nobody who could be {student!r}{numbered}")
        called = ([text for text in (each.name, *each.ids) if text][:2] for each in people[:5])
        names = ", ".join(map(" ".join, called))
        raise RosterError(f"{student!r} could be {len(people)} people of {self.source}: {names}")

    def matches(self, name: str, number: str = "") -> list[Person]:
        """All people who may be called `name`; the platform's `number` decides between them.

        Moodle's number is of one assignment. If no one has it, the roster may be another's.
        """
        spellings = {exactly(name), letters_of(name)}
        places = {place for each in spellings for place in self._by_spelling.get(each, ())}
        called = [self.people[place] for place in sorted(places)]
        if not number:
            return called
        blind = is_participant(name) or letters_of(name) == letters_of(self.parts.get("word", ""))
        among = self.people if blind else called
        numbered = [person for person in among if person.lms_id == number]
        is_told = self.kind != "moodle" and all(person.lms_id for person in called)
        return numbered if blind or is_told else numbered or called

    def members(self, group: str) -> list[Person]:
        """The people in a group, by its name in file names; empty if the name fits two groups.

        A name as Canvas writes it is that of any group of the same letters.
        """
        letters = letters_of(group)
        groups = {person.group for person in self.people}
        named = {each for each in groups if letters and letters_of(each) == letters}
        if group in named and group != canvas_name(group):
            named = {group}
        return [each for each in self.people if each.group in named] if len(named) == 1 else []

    @cached_property
    def _by_spelling(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, person in enumerate(self.people):
            for spelling in person.spellings():
                places.setdefault(spelling, []).append(place)
        return places


def read_roster(path: Path) -> Roster:
    """The class in a CSV file with a header. Raises RosterError."""
    lines = _lines(path)
    header = lines[0] if lines else []
    headings = [heading_of(cell) for cell in header]
    kind = _kind(set(headings))
    places = {name: _column(headings, name, kind) for name in COLUMNS}
    places = {name: place for name, place in places.items() if place is not None}
    parts: dict[str, str] = {}
    if kind == "table" and (worksheet := worksheet_in(header, lines[1:], places)):
        kind = "moodle"
        places = {name: each for name, each in worksheet.places.items() if name in COLUMNS}
        parts = {name: header[each] for name, each in worksheet.places.items()}
        parts["word"] = worksheet.word
    if not places.keys() & {"name", "last", "student_id", "email", "lms_id"}:
        raise RosterError(
            f"{path} has no column for a name, an id or an e-mail address: its first line must "
            "name the columns, such as Name, Student ID, Email"
        )
    everybody = [_person(line, header, places, kind) for line in lines[1:]]
    people = _once_each(person for person in everybody if _is_somebody(person, kind))
    if not people:
        raise RosterError(f"{path} names nobody below its header")
    extra_rows = [each.row for each in everybody if kind == "canvas" and not each.lms_id]
    return Roster(people, header, kind, extra_rows, path.name, parts)


def _lines(path: Path) -> list[list[str]]:
    """The cells of a CSV file, line by line, with any separator."""
    try:
        content = path.read_bytes()
        if len(content) > MAX_BYTES:
            raise RosterError(f"{path} has over {MAX_BYTES >> 20} MB, which is no class list")
        encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        text = content.decode(encoding)
        first_line = text.lstrip().partition("\n")[0]
        delimiter = max(",;\t", key=first_line.count)
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [line for line in lines if any(map(str.strip, line))]
    except OSError as error:
        raise RosterError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise RosterError(f"{path} is not UTF-8: save it again as CSV UTF-8") from None
    except csv.Error as error:
        raise RosterError(f"{path} is no CSV file: {error}") from None


def _kind(headings: set[str]) -> str:
    has_names = "student" in headings or headings >= SPLIT_NAME
    if has_names and {"id", "section"} <= headings:
        return "canvas"
    if headings >= CLASSROOM:
        return "classroom"
    return "gradescope" if {"sid", "email"} <= headings else "table"


def _column(headings: list[str], name: str, kind: str) -> int | None:
    """Where the column for `name` stands; of several the one whose heading is surest."""
    wanted = list(COLUMNS[name])
    if kind == "canvas" and name in ("student_id", "lms_id"):  # its "ID" is its own number
        wanted = ["id"] if name == "lms_id" else [each for each in wanted if each != "id"]
    if kind == "classroom" and name in ("student_id", "lms_id"):  # what the teacher calls people
        wanted = ["identifier"] if name == "student_id" else []
    return next((headings.index(each) for each in wanted if each in headings), None)


def _person(line: list[str], header: list[str], places: dict[str, int], kind: str) -> Person:
    line = line + [""] * (len(header) - len(line))
    cells = {name: line[places[name]].strip() if name in places else "" for name in COLUMNS}
    first, last = cells.pop("first"), cells.pop("last")
    cells["name"] = cells["name"] or ", ".join(part for part in (last, first) if part)
    cells["submitted_at"] = iso_time(cells["submitted_at"])
    for name in BRIGHTSPACE_MARKED:  # Brightspace writes #12345, so that no spreadsheet counts
        cells[name] = cells[name].removeprefix("#")
    if kind == "moodle":
        cells["lms_id"] = number_of(cells["lms_id"])
    return Person(**cells, row=dict(zip(header, line, strict=False)))


def _is_somebody(person: Person, kind: str) -> bool:
    """Whether a line is about a person; Canvas adds the points possible and a test student."""
    if kind == "canvas":
        return bool(person.lms_id) and person.name != CANVAS_TEST_STUDENT
    return bool(person.name or person.ids)


def _once_each(people: Iterable[Person]) -> list[Person]:
    """Without a second line about one person; people of whom only the name is known may be two."""
    seen: set[tuple[str, ...]] = set()
    once: list[Person] = []
    for person in people:
        if not person.ids or (person.name, *person.ids) not in seen:
            once.append(person)
        seen.add((person.name, *person.ids))
    return once
