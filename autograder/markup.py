"""Text of students' that a TA's browser will set as Markdown or as mathematics."""

import html
import re

# A backslash may stand before the colon; of data, pictures alone are shown.
_SCRIPT_LINK = re.compile(
    r"(?:javascript|vbscript)[\s\\]*:"
    r"|data\\?:(?=[\w.+-]*[/;,])(?!image/(?:png|jpeg|gif|webp);base64,)",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?=#|\w+;)")  # readers of Markdown turn them back, in addresses twice


def harmless_markdown(text: str) -> str:
    """Markdown without HTML and without links that run."""
    return harmless_latex(_ENTITY.sub("& ", html.unescape(text)).replace("<", "&lt;"))


def harmless_latex(text: str) -> str:
    """Mathematics without links that run."""
    return _SCRIPT_LINK.sub("unsafe:", text)
