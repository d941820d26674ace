"""Where clicked answers are kept: in the notebook's own outputs, and in a file beside it.

The outputs are what is handed in. The file is there for the next run of a cell, which begins
without outputs; a notebook that comes without its file brings the answers in the outputs it was
saved with.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from labkit.labs.papers.answers import clean, is_blank
from labkit.models.own_numbers import folded

ANSWER_TYPE = "application/vnd.labkit.answer+json"
FILE_NAME = "papers-answers.json"
MAX_BYTES = 1 << 20
MAX_NOTEBOOK_BYTES = 50 << 20
MAX_OUTPUTS = 1000
COLAB_WAIT_S = 5


def as_output(name: str, student_id: str, answer: Any, line: str) -> dict[str, Any]:
    """The output that says an answer: for programs, and as the line that people read."""
    if is_blank(answer):
        return {"text/plain": line}
    record = {"item": name, "student_id": student_id, "answer": _plain(answer)}
    return {ANSWER_TYPE: record, "text/plain": line}


def answers_in(outputs: Any) -> Iterator[tuple[str, str, Any]]:
    """Name, student id and answer of each output of a cell that holds a sound one."""
    for output in outputs[:MAX_OUTPUTS] if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        record = data.get(ANSWER_TYPE) if isinstance(data, dict) else None
        if not isinstance(record, dict):
            continue
        name, student_id = record.get("item"), record.get("student_id")
        if isinstance(name, str) and isinstance(student_id, str):
            answer = clean(name, record.get("answer"))
            if not is_blank(answer):
                yield name, student_id, answer


class AnswerFile:
    """The answers of a folder, by student id and name. What cannot be read is not there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, student_id: str, name: str) -> Any:
        """The stored answer; "" if there is none."""
        return clean(name, self._of(self._read(), student_id).get(name))

    def put(self, student_id: str, name: str, answer: Any) -> None:
        """Store an answer, or take it away if it is blank. A folder nobody can write to is fine."""
        content = self._read()
        answers = dict(self._of(content, student_id))
        answers.pop(name, None)
        if not is_blank(answer):
            answers[name] = _plain(answer)
        content[folded(student_id)] = answers
        scratch = self._path.with_suffix(".part")
        with suppress(OSError):
            scratch.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
            scratch.replace(self._path)

    def fill_from(self, notebook: Any) -> None:
        """Take over the answers in a notebook's outputs, if there is no file yet."""
        cells = notebook.get("cells") if isinstance(notebook, dict) else None
        if self._path.exists() or not isinstance(cells, list):
            return
        for cell in cells:
            for name, student_id, answer in answers_in(
                cell.get("outputs") if isinstance(cell, dict) else None
            ):
                self.put(student_id, name, answer)

    def _read(self) -> dict:
        content = _json_in(self._path, MAX_BYTES)
        return content if isinstance(content, dict) else {}

    @staticmethod
    def _of(content: dict, student_id: str) -> dict:
        answers = content.get(folded(student_id))
        return answers if isinstance(answers, dict) else {}


def this_notebook() -> Any:
    """The running notebook as it was last saved; None where nobody knows it."""
    if "google.colab" in sys.modules:
        with suppress(Exception):  # Colab promises nothing about this call
            from google.colab import _message

            return _message.blocking_request("get_ipynb", timeout_sec=COLAB_WAIT_S)["ipynb"]
    path = os.environ.get("JPY_SESSION_NAME", "")
    return _json_in(Path(path), MAX_NOTEBOOK_BYTES) if path.endswith(".ipynb") else None


def _json_in(path: Path, max_bytes: int) -> Any:
    try:
        if path.stat().st_size > max_bytes:
            return None
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _plain(answer: Any) -> Any:
    """The answer as JSON has it: numbers that are missing are left out."""
    if isinstance(answer, dict):
        return {field: value for field, value in answer.items() if value is not ...}
    return answer
