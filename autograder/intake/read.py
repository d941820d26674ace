"""Reading an untrusted notebook.

Any dialect goes in: nbformat 3, 4 and 5, UTF-8 and UTF-16, Colab, VS Code, a `.py` file. What comes
out is a list of `SubmittedCell`s with clean text. What cannot be read raises `Unreadable` with a
sentence that says what the student can do; nothing else is ever raised.
"""

import codecs
import json
import re
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Any

from autograder.markup import BASE64, PICTURES

MAX_BYTES = 50 << 20
MAX_CELLS = 5000
MAX_CODE_CHARS = 1 << 20  # of all cells together: to parse these takes up to 20 s and 1 GB
MAX_PROSE_CHARS = 4 << 20  # of one cell: Colab keeps pasted pictures in the text
MAX_NAME_CHARS = 1 << 16
MAX_LINES = 20  # that tell an encoding
ASCII = bytes(range(128))
CUT = "\n\n(the rest of this text was cut off)"

SCRIPT_HEADER = re.compile(
    r"\A(?:#!.*\n)?(?:#(?=.*coding).*\n)?# ---[ \t]*\n(?:#(?![ \t]*%%).*\n)*?# ---[ \t]*(?:\n|\Z)"
)
SCRIPT_MARK = re.compile(r"^[^\S\n]*#[^\S\n]*%%", re.MULTILINE)
# Lines end here for str.splitlines, but not for Python.
ODD_BREAKS = str.maketrans(
    dict.fromkeys("\x0b\x0c", "") | dict.fromkeys("\x1c\x1d\x1e\x85\u2028\u2029", " ")
)


WINDOWS = ("cp1252", "big5", "gb18030", "cp932", "cp949")


class Unreadable(Exception):
    """A submission that cannot be read; the message says why, and what the student can do."""


@dataclass(frozen=True)
class SubmittedCell:
    """A cell as submitted.

    names: the names that its metadata or id claims, in order of trust; attachments: the pictures
    pasted into its text, by name and type, in base64; is_foreign: nbgrader knows it, no
    lab does.
    """

    is_code: bool
    source: str
    names: tuple[str, ...] = ()
    outputs: list[dict] = field(default_factory=list)
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)
    is_foreign: bool = False


def read_notebook(content: bytes, file_name: str) -> list[SubmittedCell]:
    """The cells of a submitted file. Raises Unreadable."""
    return read_with_notes(content, file_name)[0]


def read_with_notes(content: bytes, file_name: str) -> tuple[list[SubmittedCell], list[str]]:
    """The cells of a submitted file, and what had to be repaired. Raises Unreadable."""
    if len(content) > MAX_BYTES:
        raise Unreadable(too_large(len(content)))
    text, notes = decoded(content)
    if not text.strip():
        raise Unreadable("the file is empty: hand in the notebook again")
    if file_name.lower().endswith(".py"):
        cells = _cells_of_script(_clean(text).translate(ODD_BREAKS))
    else:
        cells = _cells_of(_parse(text))
    _refuse_more_than(MAX_CELLS, len(cells), "cells")
    read = [_read_cell(cell) for cell in cells if isinstance(cell, dict)]
    n_chars = sum(len(cell.source) for cell in read if cell.is_code)
    _refuse_more_than(MAX_CODE_CHARS, n_chars, "characters of code")
    return read, notes


def too_large(n_bytes: int) -> str:
    """Why a file of this size is not read, and how it gets smaller."""
    return (
        f"the file is over {MAX_BYTES >> 20} MB (it has {-(-n_bytes >> 20)}): hand in the notebook "
        "without its outputs (Edit > Clear Outputs of All Cells)"
    )


def _refuse_more_than(limit: int, n: int, things: str) -> None:
    if n > limit:
        raise Unreadable(
            f"the file has {n:,} {things}, the limit is {limit:,}: hand it in without what is not "
            "your own work"
        )


def decoded(content: bytes) -> tuple[str, list[str]]:
    """The text of a file, and what had to be repaired. Raises Unreadable."""
    for encoding in _encodings(content):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text[:64]:
            return text.lstrip("\ufeff"), []
    if b"\x00" not in content[:64]:
        return _damaged(content)
    raise Unreadable("the file is not text: hand in the .ipynb file itself")


def _encodings(content: bytes) -> tuple[str, ...]:
    """The encodings to try, by the first bytes of the file."""
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return ("utf-32",)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ("utf-16",)
    if content[1:2] == b"\x00":
        return ("utf-16-le",)
    if content[:1] == b"\x00":
        return ("utf-16-be",)
    return ("utf-8-sig",)


def _damaged(content: bytes) -> tuple[str, list[str]]:
    """The text of a file that is not valid UTF-8, and a note: damaged, or another encoding.

    A letter of another encoding is hardly ever right in UTF-8. So a file with more right letters
    than wrong bytes is UTF-8 with damage.
    """
    text = content.decode("utf-8", "replace").lstrip("\ufeff")
    n_bad = text.count("\ufffd") - content.count("\ufffd".encode())
    n_right = sum(map(ord("\x7f").__lt__, map(ord, text))) - n_bad
    if n_right > n_bad:
        bad = f"{n_bad} bad byte{'s' if n_bad > 1 else ''}"
        return text, [f"the file has {bad}, shown as \ufffd: it was damaged on its way"]
    encoding = _likely(content)
    note = f"the file is not UTF-8: it was read as {encoding}, and letters in it may be wrong"
    return content.decode(encoding, "replace"), [note]


def _likely(content: bytes) -> str:
    """The encoding of Windows that a file has which is not UTF-8, judged by its own letters."""
    from charset_normalizer import from_bytes  # hardly any file needs it

    parts = (part for part in content.replace(b'"', b"\n").split(b"\n") if not part.isascii())
    richest = nlargest(MAX_LINES, parts, key=lambda part: len(part.translate(None, ASCII)))
    letters = b"\n".join(richest)[:MAX_NAME_CHARS]
    found = from_bytes(letters, cp_isolation=list(WINDOWS), threshold=0.9).best()
    return found.encoding if found and found.encoding in WINDOWS else WINDOWS[0]


def parsed(content: bytes) -> Any:
    """A notebook's JSON as it is read for marking. Raises Unreadable."""
    return _parse(decoded(content)[0])


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable("the file is JSON nested too deeply to be a notebook") from None
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"the file is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}): "
            "it was cut off or edited by hand; save it in Jupyter and hand it in again"
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
    raise Unreadable(
        "the file is JSON but no notebook (it has no cells): hand in the .ipynb file itself"
    )


def _read_cell(cell: dict) -> SubmittedCell:
    source = cell.get("source", cell.get("input", ""))  # nbformat 3 says input
    source = _clean(_joined(source))
    is_code = cell.get("cell_type") == "code"
    if not is_code and len(source) > MAX_PROSE_CHARS:
        source = source[:MAX_PROSE_CHARS] + CUT
    outputs = cell.get("outputs")
    outputs = outputs if isinstance(outputs, list) else []
    outputs = [output for output in outputs if isinstance(output, dict)]
    names, is_foreign = _claimed_names(cell), _is_foreign(cell)
    return SubmittedCell(is_code, source, names, outputs, _attachments(cell), is_foreign)


def _is_foreign(cell: dict) -> bool:
    """Whether nbgrader knows the cell and no lab does."""
    metadata = cell.get("metadata")
    return isinstance(metadata, dict) and "nbgrader" in metadata and "labkit" not in metadata


def _attachments(cell: dict) -> dict[str, dict[str, str]]:
    """The pictures by name; nothing under a name whose picture no page can show."""
    found, kept = cell.get("attachments"), {}
    for name, data in found.items() if isinstance(found, dict) else ():
        if isinstance(data, dict):
            kept[clean_text(name)] = {
                kind: text
                for kind, picture in data.items()
                if kind in PICTURES and (text := _joined(picture)) and BASE64.fullmatch(text)
            }
    return kept


def _joined(value: Any) -> str:
    """A text that a notebook may have as a list of its lines; "" if it is none."""
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


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


def _cells_of_script(text: str) -> list[dict]:
    """A percent-format script cell by cell; any other script is one cell.

    jupytext must see no header: what YAML makes of a few lines can fill the memory.
    """
    import jupytext

    text = SCRIPT_HEADER.sub("", text)
    _refuse_more_than(MAX_CODE_CHARS, len(text), "characters")
    _refuse_more_than(MAX_CELLS, len(SCRIPT_MARK.findall(text)), "cells")
    try:
        read = jupytext.reads(f"# %%\n{text}", fmt="py:percent").cells
    except Exception:  # jupytext promises nothing about hostile text
        return [{"cell_type": "code", "source": text}]
    cells = [{**cell, "id": None} for cell in read]  # the id is drawn anew each time
    return cells if cells and cells[0]["source"] else cells[1:]


def clean_text(text: str) -> str:
    """A name or a line: clean, and of bounded length."""
    return _clean(text[:MAX_NAME_CHARS])


def _clean(text: str) -> str:
    """Text with one kind of line end, no NUL and no lone surrogate: any file takes it."""
    text = text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")
    return text.encode("utf-8", "replace").decode("utf-8")
