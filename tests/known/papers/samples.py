"""Submissions of lab 8: answers that were clicked, under other ids, and what is forged."""

from typing import Any

from autograder.builder.blank import blank_values
from autograder.builder.notebooks import student_text
from autograder.builder.source import find_lab
from autograder.labs.papers.key import INSTRUCTOR, Key, keys, solved_answer
from autograder.practice import ALL, Edit, Sample, cell_called
from autograder.practice.honest import leave_blank
from labkit.labs.papers.store import ANSWER_TYPE, as_output
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
STRANGE = (
    "A C E'); import os; os._exit(0); ('",
    "A " * 10**4,
    ["A", "C", "E"],
    {"factor": "__import__('os')._exit(0)"},
    {"factor": 10**400, "reads": True, "__class__": 1},
    {"written": "A", "clicked": "A"},
    None,
    0.5,
)


def clicked(key: Key, answer: str, student_id: str = INSTRUCTOR) -> Any:
    """What a student has clicked who knows what is right."""
    if answer == key.item.id:
        return " ".join(key.letters(student_id))
    return key.numbers(student_id)


def store(notebook: dict, answer: str, value: Any, student_id: str = INSTRUCTOR) -> None:
    """Put a clicked answer among the outputs of its cell."""
    data = as_output(answer, student_id, value, f"Stored: {answer}")
    output = {"output_type": "display_data", "data": data, "metadata": {}}
    cell_called(notebook, answer)["outputs"].append(output)


def blank(notebook: dict, answer: str) -> None:
    """Leave one cell as it was handed out."""
    cell = next(cell for cell in find_lab(LAB).marked if cell.name == answer)
    cell_called(notebook, answer)["source"] = student_text(cell)


def click_everything(notebook: dict) -> None:
    """Every answer is an output, and no cell's text says anything."""
    leave_blank(LAB)(notebook)
    for key in keys().values():
        for answer in key.item.answers:
            store(notebook, answer, clicked(key, answer))


def click_and_type(notebook: dict) -> None:
    """One answer typed and clicked alike, one differently, one clicked as somebody else."""
    store(notebook, "q03", clicked(keys()["q03"], "q03"))
    store(notebook, "q10", "A")
    blank(notebook, "q05")
    store(notebook, "q05", clicked(keys()["q05"], "q05"), student_id="a neighbour")


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


def forge_outputs(notebook: dict) -> None:
    """Outputs that are no answers, or answers to what their cell does not ask."""
    leave_blank(LAB)(notebook)
    for key in keys().values():
        cell = cell_called(notebook, key.item.id)
        for strange in STRANGE:
            for name in (*key.item.answers, "check_q01", "student_id", "__builtins__", 7):
                record = {"item": name, "student_id": INSTRUCTOR, "answer": strange}
                data = {ANSWER_TYPE: record}
                cell["outputs"].append({"output_type": "display_data", "data": data})
    for strange in ("text", {ANSWER_TYPE: "text"}, {ANSWER_TYPE: {"item": []}}):
        cell["outputs"].append({"output_type": "display_data", "data": strange})


def _reading_the_key() -> Edit:
    return forge(LAB, f'student_id = "{INSTRUCTOR}"\n{READ_THE_KEY}')


SAMPLES = [
    Sample("vera", LAB, "all answers clicked", click_everything),
    Sample("walt", LAB, "typed and clicked", click_and_type, ("q10", "q05")),
    Sample("yuki", LAB, "an id of her own, in Chinese", under_another_id),
    Sample("zoe", LAB, "no student id", without_an_id, ALL),
    Sample("x40", LAB, "objects equal to everything",
           forge(LAB, EQUAL_TO_EVERYTHING, "Anything(1)"), ALL),
    Sample("x41", LAB, "looks for the key", _reading_the_key(), ALL),
    Sample("x42", LAB, "forged outputs", forge_outputs, ALL),
]  # fmt: skip
