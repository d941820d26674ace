"""What one person handed in, before anybody has looked into it."""

from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from autograder.course.person import Person
from autograder.intake.collect.files import File


@dataclass(frozen=True)
class Parcel:
    """What one person or group handed in at once, or all that a TA put into one folder of theirs.

    label: their name in the layout; number: distinguishes two of one label, "" if there is none;
    paths of files begin inside the parcel. attempt: 0 if the layout does not say; delivery: which
    of several exports it came in; is_numbered: whether numbers in the names of files are of
    attempts, given by the TA, and not names of what was handed in at once; who: whom of the roster
    it is from, as far as it tells.
    """

    label: str
    files: tuple[File, ...]
    system: str = ""
    number: str = ""
    submitted_at: str = ""
    group: str = ""
    attempt: int = 0
    delivery: int = 0
    is_numbered: bool = False
    who: Person | None = None

    @property
    def person(self) -> tuple[str, str]:
        """Equal for two parcels exactly if one person, or one group, handed in both."""
        if self.number:
            return self.system, self.number
        return "", self.label


def below(file: File) -> File:
    """A file as it lies inside its topmost folder."""
    return replace(file, path=PurePosixPath(*file.path.parts[1:]))
