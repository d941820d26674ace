"""Answers as pages show them: Markdown without anything that runs or loads.

The text is cut to what a person reads, turned into HTML with all HTML in it escaped, and cleaned
with nh3. Formulas stand as their text. Only pictures that were pasted into the answer are shown.
"""

import re
from collections.abc import Mapping
from functools import cache

import mistune
import nh3
from markupsafe import Markup, escape

MOST_CHARS = 20_000
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"https?://|mailto:")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TAGS = set(
    "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr img li ol p pre span strong table tbody "
    "td th thead tr ul".split()
)


def shown(text: str, pictures: Mapping[str, Mapping[str, str]] | None = None) -> Markup:
    """Safe HTML of Markdown. pictures: by name, as a notebook's attachments."""
    readable = plain(text)
    n_left = len(readable) - MOST_CHARS
    html = nh3.clean(
        _to_html()(readable[:MOST_CHARS]),
        tags=_TAGS,
        attributes={"a": {"href"}, "img": {"src", "alt"}, "ol": {"start"}},
        allowed_classes={"span": {"math"}, "div": {"math"}},
        url_schemes={"http", "https", "mailto", "attachment", "data"},  # the filter decides
        attribute_filter=lambda tag, name, value: _attribute(name, value, pictures or {}),
        link_rel="noopener noreferrer nofollow",
    )
    left = f"<p><strong>{n_left} more characters are not shown.</strong></p>" if n_left > 0 else ""
    return Markup(html + left)


def plain(text: str) -> str:
    """Text in which the marks that turn the direction of writing can be seen."""
    whole = text.encode(errors="replace").decode()  # half a character becomes a question mark
    return _DIRECTION.sub(lambda mark: f"[U+{ord(mark[0]):04X}]", whole)


def as_code(text: str) -> Markup:
    """Code or other text as it is."""
    return Markup("<pre>{}</pre>").format(escape(plain(text)[:MOST_CHARS]))


def _attribute(name: str, value: str, pictures: Mapping[str, Mapping[str, str]]) -> str | None:
    if name == "src":
        return _data_url(pictures.get(value.removeprefix("attachment:"), {}))
    return value if name != "href" or _LINK.match(value) else None


def _data_url(picture: Mapping[str, str]) -> str | None:
    for kind in PICTURES:
        data = picture.get(kind)
        if isinstance(data, str) and _BASE64.fullmatch(data):
            return f"data:{kind};base64,{''.join(data.split())}"
    return None


@cache
def _to_html() -> mistune.Markdown:
    renderer = mistune.HTMLRenderer(escape=True, allow_harmful_protocols=["attachment:"])
    return mistune.create_markdown(renderer=renderer, plugins=["table", "math", "strikethrough"])
