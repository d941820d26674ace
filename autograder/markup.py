"""Text of students' that a TA's browser will set as Markdown or as mathematics."""

import html
import re
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import unquote

T = TypeVar("T")
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
BASE64 = re.compile(r"[A-Za-z0-9+/\n]*={0,2}\n?")

# A backslash may stand before the colon; of data, pictures alone are shown.
_SCRIPT_LINK = re.compile(
    r"(?:javascript|vbscript)[\s\\]*:"
    r"|data\\?:(?=[\w.+-]*[/;,])(?!image/(?:png|jpeg|gif|webp);base64,)",
    re.IGNORECASE,
)
_PICTURE = re.compile(r"""attachment\\?:((?:[^\s()\[\]"'<>]|\([^\s()]*+\))*+)""")
_ENTITY = re.compile(r"&(?=#|\w+;)")  # readers of Markdown turn them back, in addresses twice


def harmless_markdown(text: str) -> str:
    """Markdown without HTML and without links that run."""
    return harmless_latex(_ENTITY.sub("& ", html.unescape(text)).replace("<", "&lt;"))


def with_pictures(text: str, pictures: Mapping[str, T]) -> tuple[str, dict[str, T]]:
    """Markdown that names its pasted pictures plainly, and the pictures by these names.

    nbconvert, and with it formgrader, fails at a name that it does not find letter for letter.
    """
    plain = {name: f"picture-{i}" for i, name in enumerate(pictures)}

    def named(match: re.Match) -> str:
        name = match[1] if match[1] in plain else unquote(match[1])
        return f"attachment:{plain[name]}" if name in plain else f"lost-picture:{match[1]}"

    return _PICTURE.sub(named, text), {plain[name]: each for name, each in pictures.items()}


def harmless_latex(text: str) -> str:
    """Mathematics without links that run."""
    return _SCRIPT_LINK.sub("unsafe:", text)
