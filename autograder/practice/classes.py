"""A class to practise on: submissions as Canvas hands them over, its gradebook, and a policy.

So a TA can go through a whole grading before the first deadline, and the README's chapter for TAs
can be tested as it stands.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.builder.notebooks import cell_kind
from autograder.builder.source import Lab, find_lab
from autograder.course.roster import canvas_name
from autograder.files import write_whole, zip_bytes
from autograder.practice import Sample, cell_called, clumsy, dialects, honest

PRODUCT = re.compile(r"^( +return .*?)(?<!\*)\*(?!\*)", re.MULTILINE)
STUDENTS = ("ada", "bela", "carol", "dora", "emil", "erin", "greta", "ida", "ilse", "jan", "jo")
SURNAMES = ("Adler", "Brandt", "Chen", "Dietrich", "Egger", "Fontane", "Gruber", "Huang", "Ionescu")
FIRST_NUMBER = 40_001
WAS_LATE = "dora"
IS_WRONG = "carol"
POLICY = """\
timezone = "Asia/Taipei"
attempts = "best"
late = {{ per_day = 0.1, at_most = 0.5 }}
ask = "the staff of the course, on the discussion board"
[deadlines]
{lab} = 2026-10-15T23:59:59
"""


def write_practice_class(lab: Lab, folder: Path) -> list[Path]:
    """Write submissions.zip, gradebook.csv and policy.toml; returns their paths.

    The submissions are right, half right with one wrong answer, blank, and clumsy in ways that cost
    no marks. The written answers are whole, half, one sentence, or say nothing.
    """
    known = (*honest.SAMPLES, *dialects.SAMPLES, *clumsy.SAMPLES)
    samples = [each for each in known if each.lab == lab.name and each.student in STUDENTS]
    people = _named(sorted({sample.student for sample in samples}))
    files = {
        "submissions.zip": _as_canvas_zip(samples, people),
        "gradebook.csv": _as_canvas_gradebook(lab, people),
        "policy.toml": POLICY.format(lab=lab.name).encode(),
    }
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def _named(students: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Canvas's name and number of each."""
    return {
        student: (f"{SURNAMES[i % len(SURNAMES)]}, {student.capitalize()}", FIRST_NUMBER + i)
        for i, student in enumerate(students)
    }


def _as_canvas_zip(samples: Sequence[Sample], people: dict[str, tuple[str, int]]) -> bytes:
    members = {}
    with TemporaryDirectory() as tmp:
        for i, sample in enumerate(samples):
            name, number = people[sample.student]
            late = "LATE_" if sample.student == WAS_LATE else ""
            path = sample.write(Path(tmp))
            content = path.read_bytes()
            if sample.student == IS_WRONG:
                content = _with_a_wrong_answer(content, find_lab(sample.lab))
            if sample in honest.SAMPLES:
                content = _with_other_words(content, i)
            member = f"{canvas_name(name)}_{late}{number}_{900_001 + i}_{path.name}"
            members[member] = content
    return zip_bytes(members)


def _with_a_wrong_answer(content: bytes, lab: Lab) -> bytes:
    """The notebook where the first function that returns a product adds instead."""
    notebook = json.loads(content)
    for exercise in lab.exercises:
        cell = cell_called(notebook, exercise.name)
        changed = PRODUCT.sub(r"\1+", cell["source"], count=1)
        if changed != cell["source"]:
            cell["source"] = changed
            break
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode()


def _with_other_words(content: bytes, i: int) -> bytes:
    """The notebook with more or less of each written answer, by the student's number."""
    notebook = json.loads(content)
    for cell in notebook["cells"]:
        if cell_kind(cell) == "written":
            answer = cell["source"].partition("*Marking")[0].strip()
            half = answer[: answer.find(". ", len(answer) // 2) + 1]
            first = answer.partition(". ")[0] + "."
            cell["source"] = (answer, half, first, "I do not know.")[i % 4]
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode()


def _as_canvas_gradebook(lab: Lab, people: dict[str, tuple[str, int]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    points = sum(cell.points for cell in lab.cells if cell in lab.marked or cell.kind == "written")
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"{lab.name} (7001)"]
    writer.writerow(header)
    writer.writerow(["    Points Possible", "", "", "", "", f"{points:g}"])
    for student, (name, number) in people.items():
        writer.writerow([name, number, f"B{number}", student, "LLM inference", ""])
    return buffer.getvalue().encode()
