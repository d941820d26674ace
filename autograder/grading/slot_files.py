"""The files that a grading slot reads: the master notebook and the student's labkit."""

from pathlib import Path

from autograder.builder.notebooks import plain_notebook, to_bytes
from autograder.builder.source import Lab
from autograder.builder.wheel import write_folder
from autograder.files import write_whole


def write_slot_files(lab: Lab, folder: Path) -> dict[str, str]:
    """Write both below `folder`; returns where, as settings."""
    master, student_path = folder / "master" / f"{lab.name}.ipynb", folder / "student"
    write_whole(master, to_bytes(plain_notebook(lab, "student")))
    write_folder(lab, student_path)
    return {"master": str(master), "student_path": str(student_path)}
