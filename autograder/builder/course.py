"""Writing what the sources build, comparing it with what is committed, packing it for students."""

from pathlib import Path

from autograder.builder.notebooks import build_notebook, to_bytes
from autograder.builder.readme import README, readme_with_table
from autograder.builder.source import NOTEBOOKS, Lab, read_labs
from autograder.builder.wheel import wheel_name, write_wheel, zip_bytes
from autograder.labs import part_of


def student_notebook_path(lab: Lab) -> Path:
    """Where a lab's student notebook is committed."""
    return NOTEBOOKS / f"{lab.name}.ipynb"


def build_course(folder: Path) -> list[Path]:
    """Build every lab: student notebooks and the README's table in place, the rest in `folder`.

    Returns: the paths.
    """
    written = [_write(README, readme_with_table().encode())]
    for lab in read_labs():
        written.append(_write(student_notebook_path(lab), to_bytes(build_notebook(lab, "student"))))
        instructor = folder / "instructor" / f"{lab.name}.ipynb"
        written.append(_write(instructor, to_bytes(build_notebook(lab, "instructor"))))
        written.append(write_wheel(lab, folder / "student" / lab.name))
    return written


def stale_files() -> list[Path]:
    """Committed notebooks that are not what their sources build, and those without a source.

    The README counts among them: its table comes from the sources.
    """
    expected = {
        student_notebook_path(lab): to_bytes(build_notebook(lab, "student")) for lab in read_labs()
    }
    expected[README] = readme_with_table().encode()
    present = {README, *NOTEBOOKS.glob("*.ipynb")}
    stale = {path for path in present | set(expected) if _content(path) != expected.get(path)}
    return sorted(stale)


def release_lab(lab: Lab, folder: Path, *, explained: bool = False) -> Path:
    """Pack what students of one lab get, notebook and labkit, as one zip; returns its path.

    explained: with the reasons of the lab's key, if it has one, for the days after the deadline.
    """
    key = part_of(lab.topic, "key") if explained else None
    wheel = write_wheel(lab, folder, key.explanations() if key else {})
    files = {
        f"{lab.name}.ipynb": to_bytes(build_notebook(lab, "student")),
        wheel_name(lab): wheel.read_bytes(),
    }
    wheel.unlink()
    return _write(folder / f"{lab.name}.zip", zip_bytes(files))


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if _content(path) != content:
        path.write_bytes(content)
    return path


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
