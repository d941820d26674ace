"""Reading a notebook that nobody vouches for.

Any dialect goes in: nbformat 3, 4 and 5, UTF-8 and UTF-16, Colab, VS Code, a `.py` file. What comes
out is a list of `SubmittedCell`s with clean text. What cannot be read raises `Unreadable` with a
sentence a TA can act on; nothing else is ever raised.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

MAX_BYTES = 50 << 20
MAX_CELLS = 5000
MAX_SOURCE_CHARS = 200_000


class Unreadable(Exception):
    """A submission that cannot be read; the message says why and what to ask the student for."""


@dataclass(frozen=True)
class SubmittedCell:
    """A cell as submitted. names: what its metadata or id claims it to be, in order of trust."""

    is_code: bool
    source: str
    names: tuple[str, ...] = ()
    outputs: list[dict] = field(default_factory=list)


def read_notebook(content: bytes, file_name: str) -> list[SubmittedCell]:
    """The cells of a submitted file. Raises Unreadable."""
    if len(content) > MAX_BYTES:
        raise Unreadable(
            f"the file has {len(content) >> 20} MB, the limit is {MAX_BYTES >> 20}: ask for the "
            "notebook without its outputs"
        )
    if not content.strip():
        raise Unreadable("the file is empty: ask for the notebook again")
    text = _decode(content)
    if file_name.lower().endswith(".py"):
        return _read_script(text)
    cells = _cells_of(_parse(text))
    if len(cells) > MAX_CELLS:
        raise Unreadable(f"the notebook has {len(cells)} cells, the limit is {MAX_CELLS}")
    return [_read_cell(cell) for cell in cells if isinstance(cell, dict)]


def _decode(content: bytes) -> str:
    if b"\x00" not in content[:64]:
        for encoding in ("utf-8-sig", "cp1252"):
            try:
                return content.decode(encoding)
            except UnicodeDecodeError:
                continue
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text.lstrip("\ufeff \r\n\t")[:1] in ("{", "#", "i", "f"):
            return text.lstrip("\ufeff")
    raise Unreadable("the file is not text: ask for the .ipynb file itself")


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable("the file is JSON nested too deeply to be a notebook") from None
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"the file is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}): "
            "it was cut off or edited by hand; ask the student to save and send it again"
        ) from None
    except ValueError as error:
        raise Unreadable(f"the file is not a notebook: {error}") from None


def _cells_of(notebook: Any) -> list:
    if isinstance(notebook, dict) and isinstance(notebook.get("cells"), list):
        return notebook["cells"]
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None
    if isinstance(sheets, list):  # nbformat 3
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        return [cell for cells in lists if isinstance(cells, list) for cell in cells]
    raise Unreadable("the file is JSON but no notebook (it has no cells): ask for the .ipynb file")


def _read_cell(cell: dict) -> SubmittedCell:
    source = cell.get("source", cell.get("input", ""))  # nbformat 3 says input
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    outputs = cell.get("outputs")
    return SubmittedCell(
        is_code=cell.get("cell_type") == "code",
        source=clean_text(source) if isinstance(source, str) else "",
        names=_claimed_names(cell),
        outputs=[output for output in outputs if isinstance(output, dict)]
        if isinstance(outputs, list)
        else [],
    )


def _claimed_names(cell: dict) -> tuple[str, ...]:
    """nbgrader's grade id, our own name, then the cell's id (in Colab's metadata, too)."""
    metadata = cell.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    claims = []
    for key, name_key in (("nbgrader", "grade_id"), ("labkit", "name")):
        part = metadata.get(key)
        claims.append(part.get(name_key) if isinstance(part, dict) else None)
    claims += [cell.get("id"), metadata.get("id")]
    return tuple(claim for claim in claims if isinstance(claim, str))


def _read_script(text: str) -> list[SubmittedCell]:
    """A percent-format script cell by cell; any other script is one cell."""
    import jupytext

    try:
        notebook = jupytext.reads(clean_text(text), fmt="py:percent")
    except Exception:  # jupytext promises nothing about hostile headers
        return [SubmittedCell(is_code=True, source=clean_text(text))]
    return [_read_cell(dict(cell)) for cell in notebook.cells]


def clean_text(text: str) -> str:
    """Text without NUL characters and lone surrogates, and of bounded length."""
    text = text[:MAX_SOURCE_CHARS].replace("\x00", "").replace("\r\n", "\n")
    return text.encode("utf-8", "replace").decode("utf-8")
