"""The desk's store of one lab, and a person who marks without end: `desk_store.py OUT NAME`."""

import sys
import time
from pathlib import Path

from autograder.desk.states import Key, State
from autograder.desk.store import Store
from autograder.desk.tables import Tables

LAB = "01_memory"
STUDENTS = ("ada", "bo", "cy", "di")
KEYS = [Key(LAB, "growth", student) for student in STUDENTS]


def open_store(out, questions=()):
    return Store(Tables(out / "course" / "gradebook.db"), questions)


def mark_without_end(out, who):
    """Print the name of each request that is acknowledged."""
    store, n = open_store(out), 0
    while True:
        request = f"{who}-{n}"
        mark = State(n % 5 / 4, request, (), False)
        store.give({KEYS[n % len(KEYS)]: mark}, who, request, {})
        print(request, flush=True)
        n += 1
        time.sleep(0.01)  # else the other person never gets the lock


if __name__ == "__main__":
    mark_without_end(Path(sys.argv[1]), sys.argv[2])
