"""Submissions of lab 8: of an older release, under other ids, and what is forged."""

from typing import Any

from autograder.builder.blank import blank_values
from autograder.builder.notebooks import student_text
from autograder.builder.source import find_lab
from autograder.intake.rebuild import CLICK_TYPE
from autograder.labs.papers.key import INSTRUCTOR, keys, solved_answer
from autograder.practice import ALL, Edit, Sample, cell_called
from tests.sample_class.edits import forge
from tests.sample_class.forging import EQUAL_TO_EVERYTHING

LAB = "08_papers"
READ_THE_KEY = """
import importlib, pathlib, sys, tomllib
sys.path[:0] = ['/src', '/repo', '..', '../..']
try:
    from autograder.labs.papers.key import keys
    globals().update({name: key.letters(student_id) for name, key in keys().items()})
except Exception as error:
    print(error)
for root in [*sys.path, '/', '/root', '/home', '/tmp', '/proc/1/cwd', '/proc/1/root']:
    for pattern in ('papers/keys/*.toml', '*/papers/keys/*.toml', '*/*/papers/keys/*.toml'):
        for path in pathlib.Path(root or '.').glob(pattern):
            from labkit.labs.papers.items import items, options_for
            item = items()[path.name[:3]]
            right = tomllib.loads(path.read_text())['right']
            shown = options_for(item, student_id).items()
            globals()[item.id] = [letter for letter, option in shown if option in right]
"""


def click(notebook: dict, answer: str, value: Any) -> None:
    """Store an answer among the outputs of its cell, as clicks did up to 0.1.0."""
    record = {"item": answer, "student_id": INSTRUCTOR, "answer": value}
    output = {"output_type": "display_data", "data": {CLICK_TYPE: record}, "metadata": {}}
    cell_called(notebook, answer)["outputs"].append(output)


def blank(notebook: dict, answer: str) -> None:
    """Leave one cell as it was handed out."""
    cell = next(cell for cell in find_lab(LAB).marked if cell.name == answer)
    cell_called(notebook, answer)["source"] = student_text(cell)


def of_an_older_release(notebook: dict) -> None:
    """One answer typed and clicked alike, one differently, one clicked alone."""
    click(notebook, "q03", " ".join(keys()["q03"].letters(INSTRUCTOR)))
    click(notebook, "q10", "A")
    blank(notebook, "q05_numbers")
    click(notebook, "q05_numbers", keys()["q05"].numbers(INSTRUCTOR))


def under_another_id(notebook: dict) -> None:
    """All answers right for an id of the student's own, in Chinese, the id in capitals."""
    own = 'student_id = " R12922001 "\nlanguage = "zh"'
    cell_called(notebook, "student_id")["source"] = own
    for key in keys().values():
        for answer in key.item.answers:
            source = solved_answer(answer, "r12922001")
            cell_called(notebook, answer)["source"] = source


def without_an_id(notebook: dict) -> None:
    """All answered, and nobody said whose letters they are."""
    cell = cell_called(notebook, "student_id")
    cell["source"] = blank_values(cell["source"])


def _reading_the_key() -> Edit:
    return forge(LAB, f'student_id = "{INSTRUCTOR}"\n{READ_THE_KEY}')


SAMPLES = [
    Sample("vera", LAB, "clicks of an older release", of_an_older_release, ("q05_numbers",)),
    Sample("yuki", LAB, "an id of her own, in Chinese", under_another_id),
    Sample("zoe", LAB, "no student id", without_an_id, ALL),
    Sample("x40", LAB, "objects equal to everything",
           forge(LAB, EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x41", LAB, "looks for the key", _reading_the_key(), ALL),
]  # fmt: skip
