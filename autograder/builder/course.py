"""Writing what the sources build, comparing it with what is committed, packing it for students."""

from collections.abc import Iterable
from pathlib import Path

from autograder.builder.editions import edition_of
from autograder.builder.notebooks import build_notebook, to_bytes
from autograder.builder.outline import outline_bytes, outline_path
from autograder.builder.readme import documents
from autograder.builder.source import Lab, read_labs, settings_files
from autograder.files import write_whole
from autograder.places import NOTEBOOKS


def student_notebook_path(lab: Lab) -> Path:
    """Where a lab's student notebook is committed."""
    return NOTEBOOKS / f"{lab.name}.ipynb"


def student_notebooks(labs: Iterable[Lab]) -> dict[Path, bytes]:
    """The committed notebooks of these labs, as their sources build them."""
    return {student_notebook_path(lab): to_bytes(build_notebook(lab, "student")) for lab in labs}


def committed_files() -> dict[Path, bytes]:
    """Everything committed that the sources build: notebooks, outlines and tables in documents.

    Also what labs take from course.toml.
    """
    labs = read_labs()
    outlines = {outline_path(lab): outline_bytes(lab) for lab in labs}
    return settings_files() | student_notebooks(labs) | outlines | documents()


def build_course(folder: Path) -> list[Path]:
    """Build every lab: what is committed in place, the rest in `folder`.

    Returns: the paths.
    """
    for path, content in settings_files().items():  # the notebooks are made from these
        write_changed(path, content)
    files = committed_files()
    for path, content in files.items():  # the wheels below hold the outlines
        write_changed(path, content)
    for path in (folder / "wheels").glob("*.whl"):
        path.unlink()
    for lab in read_labs():
        instructor = folder / "instructor" / f"{lab.name}.ipynb"
        files[instructor] = to_bytes(build_notebook(lab, "instructor"))
        files |= {folder / "wheels" / one.file_name: one.content for one in edition_of(lab).wheels}
    return [write_changed(path, content) for path, content in files.items()]


def stale_files() -> list[Path]:
    """Committed files that are not what their sources build, and notebooks without a source."""
    expected = committed_files()
    present = set(NOTEBOOKS.glob("*.ipynb"))
    stale = {path for path in present | set(expected) if _content(path) != expected.get(path)}
    return sorted(stale)


def release_lab(lab: Lab, folder: Path, address: str = "", *, explained: bool = False) -> Path:
    """Pack what students of one lab get, as one zip that needs no network; returns its path."""
    edition = edition_of(lab, explained=explained)
    return write_changed(folder / f"{lab.name}.zip", edition.zipped(address))


def write_changed(path: Path, content: bytes) -> Path:
    """Write a file unless it has this content already; returns the path."""
    if _content(path) != content:
        write_whole(path, content)
    return path


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
