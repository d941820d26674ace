"""Numbers of each student's own: the same question, another result for every id."""

from __future__ import annotations

import random


def own_random(student_id: str, item: str) -> random.Random:
    """Chance that is always the same for one student and one item, and nobody else's.

    Capitals and spaces around the id do not matter. Raises: ValueError for an empty id.
    """
    name = student_id.strip().casefold()
    if not name:
        raise ValueError("write your student id into the cell at the top, and run it")
    return random.Random(f"{name}:{item}")
