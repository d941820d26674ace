"""A lab's two notebooks, always the same bytes from the same source.

The student's holds stubs; the instructor's holds the answers between nbgrader's markers and runs
clean from top to bottom. Both carry nbgrader's metadata, so nbgrader's own tools work on them.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from autograder.builder.blank import BEGIN, END, blank_values, solved_cell, stub_cell
from autograder.builder.course_page import heading
from autograder.builder.pictures import with_picture
from autograder.builder.source import Lab, SourceCell, module_source, read_course, read_project
from autograder.places import REPOSITORY
from labkit.checks.written import WRITTEN_STUB

LEVELS = ("", ", easy", ", medium", ", hard")
SIGNS = {"exercise": "✎ **Your code**", "answer": "☐ **Your answer**", "written": "☐ **Your text**"}
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
SCHEMA_VERSION = 3

FIRST_CELL = Path(__file__).with_name("first_cell.py")
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}}  # in Colab, in JupyterLab
END_CELLS = (  # kind, name, text
    (
        "prose",
        "hand-in",
        """\
## Before you hand it in

This runs every check once more and lists what is still open:""",
    ),
    ("experiment", "progress", "check.all()"),
    (
        "prose",
        "hand-in-file",
        """\
Save the notebook (Ctrl-S). The next cell reads the file the way the grader does and says what is
missing. `check.ready(restart=True)` also runs your cells in a fresh Python process.""",
    ),
    ("experiment", "ready", "check.ready()"),
)
CALL = """\
install_labkit(
    lab={lab},
    address={address},
    key={key},
    wheels={{
        "labkit_data": {labkit_data},
        "labkit": {labkit},
    }},
    python=({python}),
    torch={torch},
)"""


def build_notebook(lab: Lab, edition: str, first_cell: str = "") -> NotebookNode:
    """The "student" or the "instructor" edition of a lab.

    Cells that nbgrader knows are named after the source: an exercise keeps its own name, its checks
    are called `check_<name>`. first_cell: that of a release, if it is not the repository's own.
    """
    notebook = plain_notebook(lab, edition, first_cell)
    from nbgrader.preprocessors import ComputeChecksums, LockCells  # takes half a second

    notebook, resources = LockCells().preprocess(notebook, {})
    if edition == "student":  # nbgrader takes an answer with its checksum for one not given
        notebook, resources = ComputeChecksums().preprocess(notebook, resources)
    return notebook


def plain_notebook(lab: Lab, edition: str, first_cell: str = "") -> NotebookNode:
    """As `build_notebook`, without what only nbgrader needs: locks and checksums."""
    if edition not in ("student", "instructor"):
        raise ValueError(f'an edition is "student" or "instructor", got {edition!r}')
    cells: list[NotebookNode] = []
    for cell in lab.cells:
        if cell.kind != "prose" and not any(each.cell_type == "code" for each in cells):
            cells.append(_install_cell(first_cell or repository_cell(lab)))  # below the title
        text = student_text(cell) if edition == "student" else _instructor_text(cell)
        if not cells:
            title, _, rest = text.partition("\n")
            text = f"{title}\n\n{heading(lab)}\n{rest}"
        text, attached = with_picture(lab, text)
        if cell.points:
            _put_sign(cells, cell)
        cells.append(_notebook_cell(cell, text))
        if attached:
            cells[-1]["attachments"] = attached
        if cell in lab.marked:
            cells.append(_check_cell(cell))
    cells += [_notebook_cell(SourceCell(*fields), fields[2]) for fields in END_CELLS]
    return new_notebook(
        cells=cells, metadata={"kernelspec": KERNELSPEC, "labkit": {"lab": lab.name}}
    )


def sign(cell: SourceCell) -> str:
    """Whose a marked cell is, and what it is worth: a line above it."""
    minutes = f", about {cell.minutes} minutes" if cell.minutes else ""
    reader = " A person marks it." if cell.kind == "written" else ""
    unit = "point" if cell.points == 1 else "points"
    return f"{SIGNS[cell.kind]}: {cell.points:g} {unit}{minutes}{LEVELS[cell.level]}.{reader}"


def _put_sign(cells: list[NotebookNode], cell: SourceCell) -> None:
    """Write the sign at the end of the text above; for code, if need be, into a cell of its own."""
    if cells and cells[-1].cell_type == "markdown" and not cells[-1].metadata:
        cells[-1].source += f"\n\n{sign(cell)}"
    elif cell.kind == "exercise":
        cells.append(_new_cell(sign(cell), _cell_id("sign", cell.name), is_code=False))


def to_bytes(notebook: NotebookNode) -> bytes:
    """The notebook file."""
    nbformat.validate(notebook)
    return (nbformat.writes(notebook) + "\n").encode()


def install_code(lab: Lab, address: str, wheels: Mapping[str, tuple[str, str]]) -> str:
    """The code that installs a lab's labkit. wheels: version and SHA-256 by package."""
    code = FIRST_CELL.read_text(encoding="utf-8").partition('"""\n\n\n')[2]
    oldest = read_project()["requires-python"].removeprefix(">=").replace(".", ", ")
    values = {"lab": f"{lab.number:02d}", "address": address, "key": read_course().key}
    values |= {"torch": played_torch(), **wheels}
    written = {name: json.dumps(value) for name, value in values.items()}
    return code + CALL.format(python=oldest, **written)


def played_torch() -> str:
    """The newest torch that the labs were played with, as pip is asked for it: "torch==2.14.1"."""
    lines = (REPOSITORY / "constraints-newest.txt").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def edition_prefix(lab: Lab) -> str:
    """How the version of a lab's labkit begins: all but the digits of its content."""
    revision = read_course().revision(lab)
    return f"{read_project()['version']}+lab{lab.number:02d}.{revision}."


def repository_cell(lab: Lab) -> str:
    """The first cell of committed notebooks; a change of labkit does not change it."""
    wheels = {
        "labkit_data": (f"{read_project()['version']}+", ""),
        "labkit": (edition_prefix(lab), ""),
    }
    return install_code(lab, read_course().address, wheels)


def cell_kind(cell: dict) -> str:
    """The kind of a built cell: "prose", "install", "given", "exercise", "answer", "check", ..."""
    return cell["metadata"].get("labkit", {}).get("kind", "prose")


def cell_name(cell: dict) -> str | None:
    """The name a built cell has in its source; checks are called `check_<name>`."""
    return cell["metadata"].get("labkit", {}).get("name")


def student_text(cell: SourceCell) -> str:
    """The text of a cell in the student's edition."""
    match cell.kind:
        case "exercise":
            return stub_cell(module_source(cell.target.module), cell.target)
        case "answer":
            return blank_values(cell.text)
        case "written":
            return WRITTEN_STUB
    return cell.text


def _instructor_text(cell: SourceCell) -> str:
    match cell.kind:
        case "exercise":
            return solved_cell(module_source(cell.target.module), cell.target)
        case "answer" | "written":
            return f"{BEGIN}\n{cell.text}\n{END}"
    return cell.text


def _notebook_cell(cell: SourceCell, text: str) -> NotebookNode:
    node = _new_cell(text, _cell_id(cell.kind, cell.name), is_code=not cell.is_markdown)
    if cell.kind == "prose":
        return node
    node.metadata["labkit"] = {"kind": cell.kind, "name": cell.name}
    if cell.kind == "written":
        node.metadata["nbgrader"] = nbgrader_fields(cell.name, solution=True, points=cell.points)
    elif cell.kind in ("exercise", "answer"):
        node.metadata["nbgrader"] = nbgrader_fields(cell.name, solution=True)
    elif cell.kind == "given":
        node.metadata["nbgrader"] = nbgrader_fields(cell.name, locked=True)
    return node


def _check_cell(cell: SourceCell) -> NotebookNode:
    name = f"check_{cell.name}"
    text = f'check("{cell.name}", points={cell.points:g})'
    node = _new_cell(text, _cell_id("check", cell.name))
    node.metadata["labkit"] = {"kind": "check", "name": name}
    node.metadata["nbgrader"] = nbgrader_fields(name, locked=True, points=cell.points)
    return node


def _install_cell(text: str) -> NotebookNode:
    node = _new_cell(text, "install")
    node.metadata |= FOLDED | {"labkit": {"kind": "install", "name": "install"}}
    return node


def _new_cell(text: str, cell_id: str, is_code: bool = True) -> NotebookNode:
    """As nbformat makes it, which checks each cell; here the whole notebook is checked."""
    node = NotebookNode(id=cell_id, cell_type="markdown", metadata=NotebookNode(), source=text)
    if is_code:
        node |= {"cell_type": "code", "execution_count": None, "outputs": []}
    return node


def nbgrader_fields(
    name: str, *, solution: bool = False, locked: bool = False, points: float | None = None
) -> dict:
    metadata = {
        "grade": points is not None,
        "grade_id": name,
        "locked": locked,
        "schema_version": SCHEMA_VERSION,
        "solution": solution,
        "task": False,
    }
    if points is not None:
        metadata["points"] = points
    return metadata


def _cell_id(kind: str, name: str) -> str:
    return name if kind == "prose" else f"{kind}-{name}".replace("_", "-")
