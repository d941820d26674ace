"""A person in the class, and the forms of a name in platforms and file names."""

import hashlib
import unicodedata
from dataclasses import dataclass, field

from labkit.models.own_numbers import folded


@dataclass(frozen=True)
class Person:
    """A person in the class. row: the line of the file, unchanged, by column.

    lms_id: the platform's own number: Canvas's ID, the one in Moodle's "Participant 123";
    submitted_at: ISO 8601, if the table has it.
    """

    name: str
    student_id: str = ""
    email: str = ""
    login: str = ""
    lms_id: str = ""
    group: str = ""
    section: str = ""
    submitted_at: str = ""
    row: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def ids(self) -> tuple[str, ...]:
        """The fields that identify this person."""
        ids = (self.student_id, self.login, self.email, self.lms_id)
        return ids if any(ids) else ()

    @property
    def first_and_last(self) -> tuple[str, str]:
        """The two parts of the name; of "Last, First" as of "First Last"."""
        last, comma, first = self.name.partition(",")
        if not comma:
            first, _, last = self.name.strip().rpartition(" ")
        return first.strip(), last.strip()

    @property
    def own_names(self) -> list[str]:
        """What this person may be called besides the name: ids, the e-mail address, its user."""
        user = self.email.partition("@")[0]
        return [text for text in (self.student_id, self.login, self.email, user) if text]

    @property
    def names(self) -> tuple[str, str]:
        """The name in both orders."""
        first, last = self.first_and_last
        return first + last, last + first

    def spellings(self) -> set[str]:
        """All names of this person that a platform or a file name may use, as they are compared."""
        return {*map(exactly, self.own_names), *filter(None, map(letters_of, self.names))}


def id_digest(text: str) -> str:
    """What stands for an id where nobody should read it; spaces around it and case do not count."""
    return hashlib.sha256(folded(text).encode()).hexdigest()[:16]


def canvas_name(name: str) -> str:
    """A name as Canvas writes it in the names of files: its letters and digits, in lower case."""
    return "".join(filter(_is_word, name.lower()))


def letters_of(name: str) -> str:
    """The letters of a name, to compare names that platforms have changed."""
    folded = unicodedata.normalize("NFC", name).casefold()
    return unicodedata.normalize("NFC", "".join(filter(_is_word, folded)))


def exactly(name: str) -> str:
    """An id for comparison; it never equals the letters of a name."""
    return "=" + unicodedata.normalize("NFC", name.strip()).casefold()


def _is_word(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter).startswith("M")
