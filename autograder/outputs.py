"""What a cell showed, as its process tells it: hostile, and later opened in a TA's browser.

Kept are streams, errors, and displays of a few harmless types, all bounded. HTML, JavaScript and
SVG can carry scripts and are dropped; Markdown loses its raw HTML; an image is base64 or nothing.
"""

from __future__ import annotations

import re
from typing import Any

from autograder.channel import clean_text

MAX_OUTPUTS = 200
MAX_TEXT_CHARS = 300_000
MAX_IMAGE_CHARS = 2 << 20
MAX_TRACE_LINES, MAX_LINE_CHARS = 100, 2000

_TEXTS = ("text/plain", "text/markdown", "text/latex")
_IMAGES = ("image/png", "image/jpeg")
_BASE64 = re.compile(r"[A-Za-z0-9+/\n]*={0,2}\n?")


def clean_outputs(outputs: Any, max_chars: int) -> tuple[list[dict], int]:
    """The outputs in notebook format, and how many characters they take, at most `max_chars`."""
    kept: list[dict] = []
    n_chars = 0
    for output in outputs[:MAX_OUTPUTS] if isinstance(outputs, list) else []:
        cleaned = _clean(output) if isinstance(output, dict) else None
        if cleaned is None:
            continue
        size = _n_chars(cleaned)
        if n_chars + size > max_chars:
            note = "\n... the rest of the output was dropped: the notebook has shown too much\n"
            kept.append({"output_type": "stream", "name": "stderr", "text": note})
            break
        n_chars += size
        kept.append(cleaned)
    return kept, n_chars


def _clean(output: dict) -> dict | None:
    match output.get("output_type"):
        case "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            text = clean_text(output.get("text"), MAX_TEXT_CHARS)
            return {"output_type": "stream", "name": name, "text": text}
        case "display_data":
            data = _clean_data(output.get("data"))
            return {"output_type": "display_data", "data": data, "metadata": {}}
        case "execute_result":
            data = _clean_data(output.get("data"))
            result = {"output_type": "execute_result", "data": data, "metadata": {}}
            return {**result, "execution_count": 1}
        case "error":
            trace = output.get("traceback")
            lines = trace[:MAX_TRACE_LINES] if isinstance(trace, list) else []
            return {
                "output_type": "error",
                "ename": clean_text(output.get("ename"), 200),
                "evalue": clean_text(output.get("evalue"), MAX_LINE_CHARS),
                "traceback": [clean_text(line, MAX_LINE_CHARS) for line in lines],
            }
    return None


def _clean_data(data: Any) -> dict[str, str]:
    kept = {}
    for mime in _TEXTS if isinstance(data, dict) else ():
        if isinstance(data.get(mime), str):
            kept[mime] = clean_text(data[mime], MAX_TEXT_CHARS)
    if "text/markdown" in kept:
        kept["text/markdown"] = kept["text/markdown"].replace("<", "&lt;")
    for mime in _IMAGES if isinstance(data, dict) else ():
        image = data.get(mime)
        if isinstance(image, str) and len(image) <= MAX_IMAGE_CHARS and _BASE64.fullmatch(image):
            kept[mime] = image
    return kept


def _n_chars(output: dict) -> int:
    texts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", ())]
    return sum(map(len, (*texts, *output.get("data", {}).values())))
