r"""Formulas of answers as pictures. Matplotlib draws them: it knows no links, files or macros."""

import base64
import io
import logging
import re
from functools import lru_cache
from threading import Lock

MOST_CHARS, DPI, CSS_DPI = 300, 192, 96
MOST_NESTED = 8
_DRAWING = Lock()  # matplotlib's parser is one for all threads
_OTHER_NAMES = {r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\text": r"\mathrm", r"\le": r"\leq",
                r"\ge": r"\geq", r"\ne": r"\neq", r"\lvert": "|", r"\rvert": "|"}  # fmt: skip
_COMMAND = re.compile(r"\\[A-Za-z]+")
_REFUSED = re.compile(r"\$|\\hspace|[\u2e80-\U0010ffff]")  # any width; letters without a glyph


@lru_cache(maxsize=4096)
def drawn(formula: str) -> tuple[str, int] | None:
    """A PNG in base64 and its height in pixels of a page; None if it cannot be drawn."""
    if len(formula) > MOST_CHARS or _depth(formula) > MOST_NESTED:
        return None
    if _REFUSED.search(formula):
        return None
    from matplotlib import rc_context
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    known = _COMMAND.sub(lambda name: _OTHER_NAMES.get(name[0], name[0]), " ".join(formula.split()))
    picture = io.BytesIO()
    logging.getLogger("matplotlib.mathtext").setLevel(logging.ERROR)  # a glyph that is missing
    with _DRAWING, rc_context({"savefig.transparent": True}):
        try:
            math_to_image(f"${known}$", picture, FontProperties(size=12), dpi=DPI, format="png")
        except (ValueError, RuntimeError, RecursionError):
            return None
    content = picture.getvalue()
    height = int.from_bytes(content[20:24], "big")  # of the PNG's header
    return base64.b64encode(content).decode(), round(height * CSS_DPI / DPI)


def _depth(formula: str) -> int:
    depth = most = 0
    for char in formula:
        depth += (char == "{") - (char == "}")
        most = max(most, depth)
    return most
