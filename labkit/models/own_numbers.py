"""Numbers of each student's own: the same question, another result for every id."""

import random

MAX_ID_CHARS = 100


def own_random(student_id: str, item: str) -> random.Random:
    """A random generator that depends only on the student and the item."""
    return random.Random(f"{folded(student_id)}:{item}")


def folded(student_id: str) -> str:
    """A student id for comparison, without spaces around it and in one case."""
    return printable(student_id.strip().casefold()[:MAX_ID_CHARS])


def printable(text: str) -> str:
    """Text that every file and page takes."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
