"""Which text of a notebook answers which written question, also where it stands beside its cell.

The grader and `check.ready()` go by this one rule. An answer cell is empty if it is blank or as it
was handed out. Text of the student's own belongs to it if it stands

* in a cell of its own between the cells that were handed out above and below it,
* among the lines of a handed-out text that is one of these two,
* in a code cell there that has comments, strings or no Python in it,

or, if there is no such text, in a text cell anywhere to which no other empty answer is nearer. An
answer that is not empty goes on in the text between its neighbours and in its question.
"""

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from labkit.checks.names import MAGIC

WRITTEN_STUB = "*Write your answer here.*"
_MARKS = re.compile(r"[\s*_.#>`~=|:-]+")
_STUBS = {"", "writeyouranswerhere", "youranswerhere"}  # the last one is nbgrader's
_WRITING = re.compile(r"\s*%%(?:markdown|latex|html|svg)\b")
_TARGET = re.compile(r"\]\([^()]*\)")
_BADGE = "colab-badge.svg"  # Colab and released notebooks begin with it
_ENOUGH = 10_000  # characters, of which one is more than a mark in any answer
_TELLING = 20  # characters: a shorter line may be the same by chance
_TEXT_TOKENS = {tokenize.COMMENT, tokenize.STRING} | {
    getattr(tokenize, name) for name in ("FSTRING_START",) if hasattr(tokenize, name)
}


@dataclass(frozen=True, slots=True)
class Seen:
    """A cell of a student's notebook. name: of the handed-out cell it is, "" for any other one."""

    name: str
    is_code: bool
    source: str


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """A written question.

    lines: digests of the lines that only this question has; start: the place before which its cell
    should stand, for a notebook that has lost both; stub: what its cell was handed out with.
    """

    name: str
    lines: frozenset[str] = frozenset()
    start: int | None = None
    stub: str = WRITTEN_STUB


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that belongs to an answer. place: its cell; is_far: whether other cells lie between."""

    place: int
    text: str
    is_code: bool = False
    is_far: bool = False


def is_unwritten(text: str, stub: str = WRITTEN_STUB) -> bool:
    """Whether a text is empty, nothing but marks, or what was handed out."""
    bare = _MARKS.sub("", text[:_ENOUGH]).casefold() or _MARKS.sub("", text).casefold()
    return bare in _STUBS or bare == _MARKS.sub("", stub).casefold()


def digests_of(text: str) -> frozenset[str]:
    """A digest of each line that is not blank, as the builder stores them; white space is free."""
    return frozenset(map(_digest, filter(str.strip, text.splitlines())))


def pieces_beside(
    cells: Sequence[Seen], questions: Sequence[WrittenQuestion], handed_out: Collection[str]
) -> dict[str, list[Piece]]:
    """By question, the student's text that is not in its cell, in order; only where there is some.

    handed_out: digests of the lines of all texts that were handed out.
    """
    return _Search(cells, handed_out).of(questions)


class _Search:
    def __init__(self, cells: Sequence[Seen], handed_out: Collection[str]) -> None:
        self._cells, self._handed_out = cells, handed_out
        self._digests: dict[str, str] = {}  # of a line; many cells may have it
        self._places: dict[str, list[int]] = {}
        for i, cell in enumerate(cells):
            self._places.setdefault(cell.name, []).append(i)

    def _was_handed_out(self, line: str) -> bool:
        return self._digest(line) in self._handed_out

    def _digest(self, line: str) -> str:
        if line not in self._digests:
            self._digests[line] = _digest(line)
        return self._digests[line]

    def of(self, questions: Sequence[WrittenQuestion]) -> dict[str, list[Piece]]:
        starts = {each.name: self._starts(each) for each in questions}
        empty = {each.name for each in questions if self._is_empty(each)}
        found = {each.name: self._near(each, starts[each.name], each.name in empty)
                 for each in questions}  # fmt: skip
        taken = {piece.place for pieces in found.values() for piece in pieces}
        lost = {name: starts[name] for name in empty if starts[name] and not found[name]}
        for i, cell in enumerate(self._cells) if lost else ():
            if not cell.name and not cell.is_code and i not in taken and self._is_own(cell.source):
                nearest = min(lost, key=lambda name: abs(i - lost[name][0]))
                found[nearest].append(Piece(i, cell.source.strip(), is_far=True))
        return {name: pieces for name, pieces in found.items() if pieces}

    def _is_empty(self, question: WrittenQuestion) -> bool:
        own = [self._cells[i].source for i in self._places.get(question.name, ())]
        return all(is_unwritten(text, question.stub) for text in own)

    def _starts(self, question: WrittenQuestion) -> list[int]:
        """Where the answer is, or else its question, or else where both should be."""
        if question.name in self._places:
            return self._places[question.name]
        telling = [i for i, cell in enumerate(self._cells)
                   if not cell.is_code and self._last_line_of(question, cell.source)]  # fmt: skip
        return telling[:1] or ([] if question.start is None else [question.start - 1])

    def _near(self, question: WrittenQuestion, starts: list[int], is_empty: bool) -> list[Piece]:
        pieces = {}
        for start in starts:
            is_there = question.name in self._places
            if not is_there and 0 <= start < len(self._cells):
                pieces |= {each.place: each for each in self._in_question(question, start)}
            for step in (-1, 1) if is_there else (1,):
                for each in self._along(question, start, step, is_empty):
                    pieces[each.place] = each
        return [pieces[place] for place in sorted(pieces)]

    def _in_question(self, question: WrittenQuestion, place: int) -> Iterator[Piece]:
        """What follows a question in the cell that holds it, and in which its answer may be."""
        cell = self._cells[place]
        lines = cell.source.splitlines()
        after = self._last_line_of(question, cell.source) if cell.name else 0
        text = self._own_lines(lines[after:])
        if not cell.is_code and text and (after or not cell.name):
            yield Piece(place, text)

    def _along(
        self, question: WrittenQuestion, start: int, step: int, is_empty: bool
    ) -> Iterator[Piece]:
        """The pieces from an answer's cell to the next one that was handed out."""
        place = start + step
        while 0 <= place < len(self._cells):
            cell = self._cells[place]
            if cell.name:  # handed out, or a copy of the answer with its own neighbours
                return
            if cell.is_code:
                if _has_text(cell.source) if is_empty else _is_all_text(cell.source):
                    yield Piece(place, cell.source.strip("\n"), is_code=True)
            elif self._is_own(cell.source):
                yield Piece(place, cell.source.strip())
            elif cell.source.strip():
                text = self._own_lines(cell.source.splitlines())
                if text and (is_empty or step < 0):
                    yield Piece(place, text)
                return
            place += step

    def _is_own(self, source: str) -> bool:
        """Whether a text is the student's from the first line to the last."""
        lines = [line for line in source.splitlines() if line.strip()]
        if is_unwritten(source) or _BADGE in source or all(map(self._was_handed_out, lines)):
            return False
        return not any(_is_telling(line) and self._was_handed_out(line) for line in lines)

    def _own_lines(self, lines: Sequence[str]) -> str:
        """The lines that were not handed out; "" if they say nothing."""
        own = [line for line in lines if not line.strip() or not self._was_handed_out(line)]
        text = "\n".join(own).strip()
        return "" if is_unwritten(text) else text

    def _last_line_of(self, question: WrittenQuestion, source: str) -> int:
        """The number of the last line that is the question's; 0 if none is."""
        found = [n for n, line in enumerate(source.splitlines(), start=1)
                 if _is_telling(line) and self._digest(line) in question.lines]  # fmt: skip
        return max(found, default=0)


def _has_text(source: str) -> bool:
    """Whether code has a comment or a string in it, or is no Python at all."""
    if _WRITING.match(source) or _parsed(source) is None:
        return not is_unwritten(source)
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(MAGIC.sub(r"\1pass", source)).readline)]
    except (tokenize.TokenError, SyntaxError):
        return True
    return any(token.type in _TEXT_TOKENS and not is_unwritten(token.string) for token in tokens)


def _is_all_text(source: str) -> bool:
    """Whether code does nothing: comments, strings, strings that are printed or named."""
    tree = _parsed(source)
    is_text = tree is None or bool(_WRITING.match(source)) or all(map(_is_string, tree.body))
    return is_text and _has_text(source)


def _is_string(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=value) | ast.Assign(value=value):
            return _is_string(value)
        case ast.Call(args=args):
            return bool(args) and all(map(_is_string, args))
        case ast.Constant(value=str()) | ast.JoinedStr():
            return True
    return False


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_telling(line: str) -> bool:
    return len("".join(line.split())) >= _TELLING


def _digest(line: str) -> str:
    """Without white space and without the targets of links, which a release changes."""
    bare = _TARGET.sub("]()", "".join(line.split()))
    return sha256(bare.encode(errors="replace")).hexdigest()[:8]


def begins(text: str, most: int = 40) -> str:
    """The first words of a text, as its name."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " ..."
