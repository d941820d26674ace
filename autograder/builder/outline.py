"""A lab's parts with their points, for the notebook to say how far one is."""

import json
from pathlib import Path

from autograder.builder.notebooks import plain_notebook
from autograder.builder.source import Lab
from autograder.places import REPOSITORY
from labkit.checks.names import bound_names
from labkit.checks.written import digests_of


def outline_path(lab: Lab) -> Path:
    """Where it is committed: it ships with the lab's checks."""
    return REPOSITORY / "labkit/labs" / lab.topic / "outline.json"


def outline_bytes(lab: Lab) -> bytes:
    """The lab's parts in order, each with the heading that it stands under.

    Also the names that experiments bind, so that the checks see an answer that depends on one, and
    digests of the lines of its prose, to find text that students add.
    """
    parts, section = [], ""
    for cell in lab.cells:
        if cell.kind == "prose":
            headings = [line for line in cell.text.splitlines() if line.startswith("#")]
            section = headings[-1].lstrip("# ") if headings else section
        elif cell.points:
            parts.append(
                {"name": cell.name, "kind": cell.kind, "points": cell.points, "section": section}
            )
    code = [cell for cell in lab.cells if cell.kind in ("given", "exercise", "answer")]
    others = {name for cell in code for name in (cell.name, *bound_names(cell.text))}
    texts = [cell.text for cell in lab.cells if cell.kind == "experiment"]
    experiments = [" ".join(sorted(bound_names(text) - others)) for text in texts]
    prose = [cell.source for cell in plain_notebook(lab, "student").cells
             if cell.cell_type == "markdown"]  # fmt: skip
    written = {
        "lab": _json(lab.name),
        "parts": _lines(parts),
        "experiments": _lines([*filter(None, experiments)]),
        "prose": _json(" ".join(sorted(digests_of("\n".join(prose))))),
    }
    text = ",\n".join(f"{_json(name)}: {value}" for name, value in written.items())
    return f"{{\n{text}\n}}\n".encode()


def _lines(values: list) -> str:
    """A list in JSON, with a line for each value: so a changed part is one changed line."""
    return "[\n" + ",\n".join(map(_json, values)) + "\n]" if values else "[]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
