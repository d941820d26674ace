"""What collecting gives: one `Submission` for each time that a student handed a lab in."""

import hashlib
from dataclasses import dataclass, field

from autograder.errors import Refusal
from autograder.intake.read import clean_text
from labkit.models.own_numbers import printable

MAX_NAME_BYTES = 100


class NoSubmissions(Refusal, ValueError):
    """There is nothing to grade where the TA pointed."""


@dataclass(frozen=True)
class Submission:
    """One attempt of a student at a lab.

    problem: why there is no content, in a sentence; extra: the other files beside the notebook,
    and pictures below it; left_out: the names of those that were not read; passed_over: the names
    of other notebooks beside it, which are not graded; attempt: 1 for the first; submitted_at: ISO
    8601, without an offset if the export names none, "" if unknown; marked_late: what the LMS says
    of that, None if nothing; group: whom it was handed in for, "" if for one. own_ids: digests of
    the ids that the class list has for the student and the group; others_ids: of all other people's
    (see `autograder.course.person.id_digest`).
    """

    student: str
    file_name: str
    content: bytes = b""
    problem: str = ""
    extra: dict[str, bytes] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    attempt: int = 1
    submitted_at: str = ""
    marked_late: bool | None = None
    group: str = ""
    own_ids: tuple[str, ...] = ()
    others_ids: tuple[str, ...] = ()


def safe_name(name: str) -> str:
    """A name that every file system, database and page takes: clean text of bounded length.

    It is never empty, a path, or the name of a folder above.
    """
    clean = printable(clean_text(name))
    clean = clean.replace("/", "_").replace("\\", "_")
    if not clean.strip(". "):
        return "_" * max(len(clean), 1)
    if len(clean.encode()) <= MAX_NAME_BYTES:
        return clean
    digest = hashlib.sha256(clean.encode()).hexdigest()[:8]
    return clean.encode()[: MAX_NAME_BYTES - 9].decode("utf-8", "ignore") + "-" + digest
