"""The pictures of a student's text: pasted, written into it, or lying beside the notebook.

In any spelling, a picture that can be shown becomes `![...](attachment:NAME)` with a name that no
other cell uses. If it cannot be shown, the text says why.
"""

import html
import re
import unicodedata
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from urllib.parse import unquote

from autograder.intake.read import SubmittedCell
from autograder.markup import BASE64, PICTURES

Pictures = dict[str, dict[str, str]]

BADGE = "colab-badge.svg"  # Colab and the released notebooks begin with it
STARTS = {  # of the files that browsers show
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}
SHOWN = (".png", ".jpg", ".jpeg", ".gif", ".webp")
DRAWN = (".svg", ".heic", ".heif", ".tif", ".tiff", ".bmp", ".eps")
DOCUMENTS = (".pdf", ".doc", ".docx", ".odt", ".rtf", ".pages")
MOST_CHARS = 60  # of an address in a sentence
MOST_PICTURES = 200  # of a notebook; each is named in a sentence or shown

_TAG = re.compile(r"<(?:img|image|embed|object|source)\b", re.IGNORECASE)
_SOURCE = re.compile(
    r"""\b(?:src|data|href|srcset)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""", re.IGNORECASE
)
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_IMAGE = re.compile(  # the address of an attachment takes the spaces that follow it
    r"!\[((?:[^\[\]\\]|\\.)*+)\]\(\s*+"
    r"(?:<([^<>\n]*+)>|(attachment\\?:[^()<>\n\"']*+(?:\([^()\n]*+\)[^()<>\n\"']*+)*+"
    r"|(?:[^\s()\\]|\\.|\([^()\s]*+\))*+))"
    r"(?:(?:\s++|(?<=\s))(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?\s*+\)",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^( {0,3}\[[^\]\n]+\]:[ \t]*)<?([^\s<>]+)>?", re.MULTILINE)
_DATA = re.compile(r"data:(image/[\w.+-]+);base64,(.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_ATTACHMENT = re.compile(r"attachment\s*\\?:", re.IGNORECASE)


@dataclass(frozen=True)
class ShownText:
    """A text as it is shown. lost: a sentence for each picture in it that cannot be shown."""

    source: str
    pictures: Pictures = field(default_factory=dict)
    lost: tuple[str, ...] = ()

    def part(self, source: str) -> "ShownText":
        """A part of the text, with the pictures that it names."""
        named = {name: each for name, each in self.pictures.items()
                 if re.search(rf":{name}\b", source)}  # fmt: skip
        return replace(self, source=source, pictures=named)


class Album:
    """All pictures that came with a notebook."""

    def __init__(self, cells: Sequence[SubmittedCell], files: Mapping[str, bytes]) -> None:
        """files: what lies beside the notebook, by name."""
        self._pasted: dict[str, list[dict[str, str]]] = {}
        for cell in cells:
            for name, pictures in cell.attachments.items():
                self._pasted.setdefault(_plain(name), []).append(pictures)
        self._files = {_plain(_last(name)): (name, data) for name, data in files.items()}
        self._named: set[int] = set()  # files that a text names, by the identity of their content
        self._n_left = MOST_PICTURES

    def text(self, cell: SubmittedCell, place: int) -> ShownText:
        """A cell's text with its pictures. place: the number of the cell."""
        return _Reading(self, cell, place).text()

    def unnamed(self) -> tuple[ShownText, list[str]]:
        """The pictures beside the notebook that no text names, and the files that are not shown."""
        shown, pictures, unseen = [], {}, []
        for key, (name, data) in sorted(self._files.items()):
            suffix = PurePosixPath(key).suffix
            if id(data) in self._named or not data:
                continue
            kind = kind_of(data)
            if kind and suffix in SHOWN:
                pictures[f"beside-{len(pictures)}"] = {kind: b64encode(data).decode()}
                shown.append(f"{_text(name)}\n\n![{_text(name)}](attachment:beside-{len(shown)})")
                self._named.add(id(data))
            elif suffix in SHOWN + DRAWN + DOCUMENTS:
                unseen.append(f"{name} lies beside the notebook and cannot be shown: open it too")
        return ShownText("\n\n".join(shown), pictures), unseen

    def pasted(self, name: str, own: Mapping[str, dict[str, str]]) -> dict[str, str] | None:
        """A pasted picture of a cell, or of another cell if that alone has one of this name."""
        for each in (name, unquote(name), unquote(unquote(name))):
            if each in own:
                return own[each]
            for known, pictures in own.items():
                if _plain(known) == _plain(each):
                    return pictures
            if len(elsewhere := self._pasted.get(_plain(each), ())) == 1:
                return elsewhere[0]
        return None

    def file(self, path: str) -> bytes | None:
        """The file beside the notebook that a path means, found by its name alone."""
        plain = unquote(path)
        joined = re.sub(r"[/\\]+", "_", plain.removeprefix("./"))  # as intake names a second one
        for each in (joined, path, plain, re.split("[?#]", plain)[0]):
            if found := self._files.get(_plain(_last(each))):
                self._named.add(id(found[1]))
                return found[1]
        return None

    def mentioned(self, text: str) -> list[tuple[str, bytes]]:
        """The pictures beside the notebook whose names stand in a text."""
        words = _plain(unquote(text))
        return [
            (name, data)
            for key, (name, data) in self._files.items()
            if PurePosixPath(key).suffix in SHOWN and key in words
        ]

    def has_room(self) -> bool:
        self._n_left -= 1
        return self._n_left >= 0


class _Reading:
    """One text being read. used: the cell's own pictures that it names."""

    def __init__(self, album: Album, cell: SubmittedCell, place: int) -> None:
        self._album, self._cell, self._place = album, cell, place
        self._pictures: Pictures = {}
        self._lost: list[str] = []
        self._used: set[int] = set()

    def text(self) -> ShownText:
        source = _with_tags(self._cell.source, self._tag)
        source = _IMAGE.sub(lambda found: self._shown(found[1], found[2] or found[3] or ""), source)
        source = _DEFINITION.sub(self._definition, source)
        more = [
            self._shown(_text(name), f"attachment:{name}")
            for name, pictures in self._cell.attachments.items()
            if id(pictures) not in self._used
        ]
        for name, data in self._album.mentioned(source):
            if id(data) not in self._used:
                more.append(self._shown(_text(name), name))
        return ShownText("\n\n".join([source, *more]), self._pictures, tuple(self._lost))

    def _tag(self, tag: str) -> str:
        found, alt = _SOURCE.search(tag), _ALT.search(tag)
        if not found or BADGE in tag:
            return tag
        words = next(filter(None, alt.groups()), "") if alt else ""
        return self._shown(_text(html.unescape(words)), next(filter(None, found.groups()), ""))

    def _definition(self, found: re.Match) -> str:
        is_picture = _ATTACHMENT.match(found[2]) or _DATA.match(found[2])
        if not is_picture and PurePosixPath(found[2].casefold()).suffix not in SHOWN + DRAWN:
            return found[0]
        shown = re.fullmatch(r"!\[.*\]\((.*)\)", self._shown("", found[2]), re.DOTALL)
        return found[1] + shown[1] if shown else found[0]

    def _shown(self, words: str, address: str) -> str:
        """The picture at an address in Markdown, or why it cannot be shown."""
        address = html.unescape(address).strip()
        if re.fullmatch(rf"attachment:picture-{self._place}-\d+", address):
            return f"![{words}]({address})"  # it was a tag
        picture, reason = self._look_up(address)
        if picture and not self._album.has_room():
            picture, reason = None, f"the notebook has more than {MOST_PICTURES} pictures"
        if picture:
            name = f"picture-{self._place}-{len(self._pictures)}"
            self._pictures[name] = picture
            return f"![{words}](attachment:{name})"
        called = _text(_ATTACHMENT.sub("", address)[:MOST_CHARS] or words[:MOST_CHARS])
        if address.startswith("data:"):
            called = "in the text"
        self._lost.append(f"the picture {called} of cell {self._place + 1} is not shown: {reason}")
        return f"(The picture {called} is not shown: {reason}.)"

    def _look_up(self, address: str) -> tuple[dict[str, str] | None, str]:
        if found := _ATTACHMENT.match(address):
            pictures = self._album.pasted(address[found.end() :].strip(), self._cell.attachments)
            if pictures is None:
                return None, "it was not handed in with the notebook"
            self._used.add(id(pictures))
            return (pictures, "") if pictures else (None, "it is damaged, or of a kind such as SVG")
        if found := _DATA.match(address):
            data = "".join(unquote(found[2]).split())
            if found[1].lower() in PICTURES and BASE64.fullmatch(data):
                return {found[1].lower(): data}, ""
            return None, f"it is damaged, or its kind {found[1][:20]} is not shown"
        data = self._album.file(address)
        if data is not None:
            self._used.add(id(data))
            kind = kind_of(data)
            reason = "the file is not a PNG, JPEG, GIF or WebP picture"
            return ({kind: b64encode(data).decode()}, "") if kind else (None, reason)
        if _SCHEME.match(address):
            return None, "it lies on another machine, which the grader does not ask"
        return None, "no such file was handed in beside the notebook"


def kind_of(data: bytes) -> str:
    """The kind of a picture that browsers show, by its first bytes; "" for any other file."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in STARTS.items() if data.startswith(start)), "")


def _with_tags(source: str, change: Callable[[str], str]) -> str:
    """The text with each picture's tag changed; a tag without an end is not changed."""
    parts, end = [], 0
    while found := _TAG.search(source, end):
        close = source.find(">", found.end())
        if close < 0:
            break
        parts += [source[end : found.start()], change(source[found.start() : close + 1])]
        end = close + 1
    return "".join([*parts, source[end:]])


def _last(path: str) -> str:
    """The name at the end of a path of any system."""
    return re.split(r"[/\\]", path)[-1]


def _plain(name: str) -> str:
    """A name for comparison: in lower case, and in one of Unicode's forms."""
    return unicodedata.normalize("NFC", name).casefold().strip()


def _text(words: str) -> str:
    """Words that Markdown takes as they are."""
    return re.sub(r"[\[\]()<>!`\\\n]", " ", words).strip()
