"""Fingerprints of texts, without names, layout and handed-out lines.

Source: Schleimer, Wilkerson, Aiken, "Winnowing: local algorithms for document fingerprinting",
SIGMOD 2003. Any stretch of FRAGMENT + WINDOW - 1 characters that two forms share is seen.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from copydetect.utils import filter_code, get_copied_slices, winnow

from autograder.names import squeeze

FRAGMENT_CHARS, WINDOW = 25, 6
PROSE_FRAGMENT_CHARS = 40
MAX_CHARS = 40_000
_MULTIPLIERS = np.random.default_rng(0).integers(1, 2**63, PROSE_FRAGMENT_CHARS, np.uint64) | 1
_LETTER = re.compile(r"\w")


@dataclass(frozen=True)
class ComparedText:
    """One student's text for one exercise.

    form: the text without what does not count; positions: where each of its characters stands in
    the text; is_own: which of the text's characters are not in a line that was handed out; size:
    the characters of a fragment.
    """

    text: str
    form: str
    positions: np.ndarray
    is_own: np.ndarray
    size: int

    @cached_property
    def fingerprints(self) -> dict[int, list[int]]:
        """The winnowed fingerprints, with the places in the form where they begin."""
        hashes = hashes_of(self.form, self.size)
        places: dict[int, list[int]] = {}
        if len(hashes):
            for value, place in zip(*winnow(hashes, WINDOW, False), strict=True):
                places.setdefault(int(value), []).append(int(place))
        return places

    def marked(self, shared: set[int]) -> list[tuple[str, bool]]:
        """The text in pieces, with whether each is covered by the fingerprints."""
        places = [place for value in shared for place in self.fingerprints.get(value, ())]
        if not places:
            return [(self.text, False)]
        is_shared = np.zeros(len(self.text), bool)
        for start, end in get_copied_slices(np.array(places), self.size).astype(int).T:
            is_shared[self.positions[start] : self.positions[end - 1] + 1] = True
        is_shared &= self.is_own[: len(self.text)]
        edges = [0, *(np.flatnonzero(np.diff(is_shared)) + 1), len(self.text)]
        return [(self.text[a:b], bool(is_shared[a])) for a, b in pairwise(edges)]


def code_text(source: str, given: Collection[str] = ()) -> ComparedText:
    """Code by its tokens: names, texts, comments and white space are alike.

    given: the lines, without white space, that were handed out.
    """
    source = source[:MAX_CHARS].strip("\n")  # as the tokenizer does
    form, offsets = filter_code(source, "", "python")
    places = np.arange(len(form))
    rows = np.searchsorted(offsets[:, 0], places).clip(max=len(offsets) - 1)
    positions = (places + offsets[rows, 1]).clip(max=max(0, len(source) - 1))
    return _text(source, form, positions, FRAGMENT_CHARS, given)


def prose_text(text: str, given: Collection[str] = ()) -> ComparedText:
    """Prose by its letters and digits, small and large alike. given: as for code."""
    text = text[:MAX_CHARS]
    found = [(letter.start(), letter[0].casefold()[0]) for letter in _LETTER.finditer(text)]
    form = "".join(letter for _, letter in found)
    positions = np.array([place for place, _ in found], int)
    return _text(text, form, positions, PROSE_FRAGMENT_CHARS, given)


def hashes_of(form: str, size: int) -> np.ndarray:
    """A number for every fragment of `size` characters, the same in every process."""
    letters = np.frombuffer(form.encode("utf-32-le", "replace"), np.uint32).astype(np.uint64)
    if len(letters) < size:
        return np.zeros(0, np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(letters, size)
    mixed = (windows * _MULTIPLIERS[:size]).sum(axis=1, dtype=np.uint64)
    return (mixed >> np.uint64(12)).astype(np.int64)  # as many bits as winnowing compares


def _text(
    text: str, form: str, positions: np.ndarray, size: int, given: Collection[str]
) -> ComparedText:
    """A text without the lines that were handed out."""
    lines = text.split("\n")
    is_own = np.repeat(
        [squeeze(line) not in given for line in lines], [len(line) + 1 for line in lines]
    )
    kept = is_own[positions]
    form = "".join(letter for letter, keep in zip(form, kept, strict=True) if keep)
    return ComparedText(text, form, positions[kept], is_own, size)
