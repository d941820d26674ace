"""The names in a zip that does not say how it spells them.

A zip says so by a flag (UTF-8) or by a field beside the name (0x7075). Windows writes neither: its
zips have names as the language of that computer spells them. There the second byte of 許, 功 and 蓋
is that of a backslash, so a name is decoded before it is split into folders. All names of a zip
were written by one computer: the encoding is taken that spells them all in letters, best in the
names of people on the roster, else in letters that are common in names. If two fit equally
well, none is chosen.
"""

import re
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Collection, Sequence

from autograder.course.person import letters_of

UTF8_FLAG = 0x800
UNICODE_PATH = 0x7075
COMMON = {  # where an encoding's standard keeps the common letters, among all that it spells
    "cp950": ("big5", ((0xA440, 0xC67E),)),
    "cp936": ("gb2312", ((0xB0A1, 0xD7F9),)),
    "cp932": ("shift_jis", ((0x829F, 0x82F1), (0x8340, 0x8396), (0x889F, 0x9872))),
    "cp949": ("euc_kr", ((0xB0A1, 0xC8FE),)),
}
WESTERN = ("cp437", "cp850", "cp1252")
ACCENTED = set("áàâäãåæçéèêëíìîïñóòôöõøœúùûüýÿß") | set("ÁÀÂÄÃÅÆÇÉÈÊËÍÌÎÏÑÓÒÔÖÕØŒÚÙÛÜÝ")
LEAST_COMMON, LEAST_LEAD = 0.6, 0.2  # shares of the letters
NEUTRAL = "々ー・·（）"  # neither common nor rare
MAX_LOOKED_AT = 1000  # names, where one decides for all
MANY_LETTERS = 15  # all of them Korean by chance, in Chinese names: less than once in 1000
BACKSLASH = re.compile(rb"(?<![\x80-\xff])\\")


def names_in(
    entries: Sequence[zipfile.ZipInfo], people: Collection[str] = ()
) -> tuple[list[str], bool]:
    """The name of each entry, with / between folders, and whether all names are sure.

    people: the letters of the names of the class. A name that is not sure has a stand-in for each
    byte.
    """
    raw = [entry.orig_filename.encode("cp437", "replace").partition(b"\0")[0] if _is_unsaid(entry)
           else b"" for entry in entries]  # fmt: skip
    told = [
        _unicode_path(entry.extra, name) if _is_unsaid(entry) else entry.filename
        for entry, name in zip(entries, raw, strict=True)
    ]
    unsaid = {name for name, text in zip(raw, told, strict=True) if not text}
    spelt = _spelt(unsaid, {name for name in people if len(name) > 1 and not name.isascii()})
    texts = [
        (text or (spelt or {}).get(name, "")).replace("\\", "/")
        or BACKSLASH.sub(b"/", name).decode("cp437")
        for name, text in zip(raw, told, strict=True)
    ]
    return texts, spelt is not None


def _is_unsaid(entry: zipfile.ZipInfo) -> bool:
    return not entry.flag_bits & UTF8_FLAG


def _unicode_path(extra: bytes, name: bytes) -> str:
    """The name in the field 0x7075, if there is one and it is about this name; else ""."""
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == UNICODE_PATH and field[:5] == struct.pack("<BL", 1, zlib.crc32(name)):
            return field[5:].decode("utf-8", "ignore")
    return ""


def _spelt(names: set[bytes], people: set[str]) -> dict[bytes, str] | None:
    """The text of each name, None if it is in doubt: all in one encoding, or else beside UTF-8."""
    plain = {name: name.decode("ascii") for name in names if name.isascii()}
    rest = sorted(names - plain.keys())
    texts = _in_one_encoding(rest, people)
    if texts is None:
        utf8 = [name for name in rest if _decoded([name], "utf-8")]
        others = [name for name in rest if name not in utf8]
        texts = _in_one_encoding(others, people) if utf8 else None
        if texts is not None:
            texts = [*_decoded(utf8, "utf-8"), *texts]
            rest = [*utf8, *others]
    return None if texts is None else plain | dict(zip(rest, texts, strict=True))


def _in_one_encoding(names: list[bytes], people: set[str]) -> list[str] | None:
    """The names in the one encoding that fits all, None if there is none or if two fit alike."""
    if not names:
        return []
    read = {each: _decoded(names, each) for each in ("utf-8", *COMMON, *WESTERN)}
    read = {each: texts for each, texts in read.items() if texts}
    of_class = {each: _n_of_class(texts[:MAX_LOOKED_AT], people) for each, texts in read.items()}
    best = [each for each, n in of_class.items() if n and n == max(of_class.values())]
    if best and all(read[each] == read[best[0]] for each in best):
        return read[best[0]]
    if "utf-8" in read and all(map(_is_one_script, read["utf-8"])):
        return read["utf-8"]
    fits = sorted(
        (_commonness(read[each][:MAX_LOOKED_AT], each), each) for each in COMMON if each in read
    )
    fits = [(share, each) for share, each in fits if share >= LEAST_COMMON]
    if not fits:
        western = (read[each] for each in WESTERN if each in read)
        return next(filter(_are_western, western), None)
    n_letters = sum(not letter.isascii() for letter in "".join(read[fits[-1][1]]))
    if (1.0, "cp949") in fits and n_letters >= MANY_LETTERS:
        return read["cp949"]  # cp936 reads any Korean text as common letters, but not vice versa
    if len(fits) > 1 and fits[-1][0] - fits[-2][0] < LEAST_LEAD:
        return None
    return read[fits[-1][1]]


def _decoded(names: list[bytes], encoding: str) -> list[str] | None:
    try:
        return [name.decode(encoding) for name in names]
    except UnicodeError:
        return None


def _n_of_class(texts: list[str], people: set[str]) -> int:
    """How many of these names contain a name from the roster."""
    return sum(any(name in letters for name in people) for letters in map(letters_of, texts))


def _commonness(texts: list[str], encoding: str) -> float:
    """The share of common letters; one that touches a Latin letter is none of a name."""
    n_common = n = 0
    for text in texts:
        for before, letter, after in zip(" " + text, text, text[1:] + " ", strict=False):
            if not letter.isascii() and letter not in NEUTRAL:
                n += 1
                is_apart = not any(each.isascii() and each.isalpha() for each in (before, after))
                n_common += is_apart and _is_common(letter, encoding)
    return n_common / n if n else 0.0


def _is_common(letter: str, encoding: str) -> bool:
    standard, ranges = COMMON[encoding]
    code = int.from_bytes(letter.encode(standard, "ignore"), "big")
    return any(first <= code <= last for first, last in ranges)


def _is_one_script(text: str) -> bool:
    """Whether a text is UTF-8 by more than chance, as some two letters of cp936 are.

    By chance they are of several scripts; and letters of three bytes are no chance.
    """
    letters = [letter for letter in text if not letter.isascii()]
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    return len(scripts) < 2 or max(letters) >= "\u0800"


def _are_western(texts: list[str]) -> bool:
    """Whether all letters are those of western languages, no two accents and capitals in a row."""
    return all(
        letter.isascii()
        or (letter in ACCENTED and before.isascii() and not (letter.isupper() and before.islower()))
        for text in texts
        for before, letter in zip(" " + text, text, strict=False)
    )
