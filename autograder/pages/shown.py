"""Answers as pages show them: Markdown without anything that runs or loads.

The text is cut to what a person reads, turned into HTML with all HTML in it escaped, and cleaned
with nh3. Formulas are drawn; one that cannot be drawn stands as its text. Of pictures, only those
that were pasted into the answer are shown.
"""

import re
from collections.abc import Mapping
from functools import cache
from html import unescape

import mistune
import nh3
from markupsafe import Markup, escape

from autograder.markup import PICTURES
from autograder.pages.formulas import drawn

MOST_CHARS, MOST_FORMULA_CHARS = 20_000, 1_000
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"https?://|mailto:")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FORMULA = re.compile(r'<(span|div) class="math">(.*?)</\1>', re.DOTALL)
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
    html = with_formulas(html)
    left = f"<p><strong>{n_left} more characters are not shown.</strong></p>" if n_left > 0 else ""
    return Markup(html + left)


def with_formulas(html: str) -> str:
    """Clean HTML with its formulas drawn, until they are too many."""
    n_left = MOST_FORMULA_CHARS

    def picture(found: re.Match) -> str:
        nonlocal n_left
        formula = unescape(found[2]).strip().removeprefix("$$").removesuffix("$$")
        formula = formula.removeprefix("\\(").removesuffix("\\)").strip()
        n_left -= len(formula)
        if n_left < 0 or not (image := drawn(formula)):
            return found[0]
        shown = Markup('<img class="math" alt="{}" height="{}" src="data:image/png;base64,{}">')
        image = shown.format(formula, image[1], image[0])
        return image if found[1] == "span" else f'<div class="math">{image}</div>'

    return _FORMULA.sub(picture, html)


def plain(text: str) -> str:
    """Text in which the marks that turn the direction of writing can be seen."""
    whole = text.encode(errors="replace").decode()  # half a character becomes a question mark
    return _DIRECTION.sub(lambda mark: f"[U+{ord(mark[0]):04X}]", whole)


def as_code(text: str) -> Markup:
    """Code or other text, unchanged."""
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
