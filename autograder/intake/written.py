"""The written answers of a submission: what stands in their cells, and what stands beside them."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from autograder.intake.master import Master, MasterCell
from autograder.intake.pictures import Album, Pictures, ShownText
from autograder.intake.read import SubmittedCell
from labkit.checks.written import (
    Piece,
    Seen,
    WrittenQuestion,
    digests_of,
    is_unwritten,
    pieces_beside,
)

MOST_NOTED = 10  # pictures and files, each in a sentence


@dataclass(frozen=True)
class WrittenAnswer:
    """One answer as people read it.

    where: sentences on where it stands, if not in its cell alone; lost: on each picture in it that
    cannot be shown.
    """

    source: str
    pictures: Pictures
    where: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    is_blank: bool = False


class WrittenAnswers:
    """The answers of one submission. places: its cells by the master's name; owner: the other way
    round; files: what lies beside the notebook."""

    def __init__(
        self,
        master: Master,
        submitted: Sequence[SubmittedCell],
        places: Mapping[str, Sequence[int]],
        owner: Mapping[int, MasterCell],
        files: Mapping[str, bytes],
    ) -> None:
        self._submitted, self._places = submitted, places
        album = Album(submitted, files)
        self.texts = {
            i: ShownText(_fenced(cell.source)) if cell.is_code else album.text(cell, i)
            for i, cell in enumerate(submitted)
            if not cell.is_code or (i in owner and owner[i].kind == "written")
            if i not in owner or owner[i].is_open
        }
        self.beside, unseen = album.unnamed()
        self._pieces = self._find_pieces(master, owner)
        self.answers = {cell.name: self._answer(cell) for cell in master.of_kind("written")}
        lost = [sentence for text in self.texts.values() for sentence in text.lost]
        noted = [
            f"the answer {name}: {sentence}"
            for name, answer in self.answers.items()
            for sentence in answer.where
        ]
        self.notes = [*noted, *_few(lost), *_few(unseen)]

    def _find_pieces(
        self, master: Master, owner: Mapping[int, MasterCell]
    ) -> dict[str, list[Piece]]:
        code = {name for cell in master.cells if cell.node.cell_type == "code"
                for name in (cell.name, cell.node.get("id"))}  # fmt: skip
        seen = [
            Seen(
                owner[i].name if i in owner else _changed(cell, code),
                cell.is_code,
                self.texts[i].source if i in self.texts and not cell.is_code else cell.source,
            )
            for i, cell in enumerate(self._submitted)
        ]
        prose = [cell for cell in master.cells if cell.node.cell_type != "code"]
        lines = Counter(line for cell in prose if not cell.is_open
                        for line in digests_of(cell.source))  # fmt: skip
        questions, last, above, asked = [], None, "", master.of_kind("written")
        for cell in master.cells:
            if cell in asked:
                start = None if last is None else last + 1
                telling = frozenset(line for line in digests_of(above) if lines[line] == 1)
                questions.append(WrittenQuestion(cell.name, telling, start, cell.source))
            last = max(self._places.get(cell.name, ()), default=last)
            above = cell.source if cell.kind == "prose" else ""
        return pieces_beside(seen, questions, lines)

    def _answer(self, cell: MasterCell) -> WrittenAnswer:
        places = self._places.get(cell.name, ())
        own = {self.texts[i].source: i for i in places
               if not is_unwritten(self.texts[i].source, cell.source)}  # fmt: skip
        pieces = self._pieces.get(cell.name, ())
        parts = [self.texts[i] for i in own.values()]
        parts += [self._part(piece) for piece in pieces]
        noted = _where(own, pieces)
        if not parts and self.beside.source:
            parts, noted = [self.beside], ["pictures beside the notebook may belong to it"]
        if not parts:
            source = self._submitted[places[-1]].source if places else ""
            return WrittenAnswer(source, {}, is_blank=True)
        lost = [sentence for part in parts for sentence in part.lost]
        return WrittenAnswer(
            "\n\n".join(part.source for part in parts),
            {name: each for part in parts for name, each in part.pictures.items()},
            tuple(noted),
            tuple(lost),
        )

    def _part(self, piece: Piece) -> ShownText:
        if piece.is_code:
            return ShownText(_fenced(piece.text))
        return self.texts[piece.place].part(piece.text)


def show(node: NotebookNode, answer: WrittenAnswer) -> None:
    """Put an answer into its cell of the master."""
    node.source = answer.source
    if noted := [*answer.where, *_few(answer.lost)]:
        node.metadata["noted"] = noted
    if answer.pictures:
        node.attachments = answer.pictures


def _few(sentences: Sequence[str]) -> list[str]:
    """The first sentences, each once, and how many more there are."""
    distinct = list(dict.fromkeys(sentences))
    n_more = len(distinct) - MOST_NOTED
    more = [f"{n_more} more pictures or files like these are not shown"] if n_more > 0 else []
    return distinct[:MOST_NOTED] + more


def _changed(cell: SubmittedCell, names: Collection[str]) -> str:
    """The name of the handed-out code that a cell of code was; "" if it is the student's own."""
    return next((name for name in cell.names if cell.is_code and name in names), "")


def _where(own: Mapping[str, int], pieces: Sequence[Piece]) -> list[str]:
    """Where an answer stands, if not in its cell alone."""
    far = [each.place for each in pieces if each.is_far]
    near = [each.place for each in pieces if not each.is_far]
    noted = []
    if near and own:
        noted.append(f"goes on beside its cell, in {_cells(near)}")
    elif near:
        noted.append(f"written beside the empty answer cell, in {_cells(near)}")
    if far:
        noted.append(f"its cell is empty; text of the student stands in {_cells(far)}")
    return noted


def _cells(places: Sequence[int]) -> str:
    numbers = [str(place + 1) for place in places]
    return f"cell {numbers[0]}" if len(numbers) == 1 else f"cells {', '.join(numbers)}"


def _fenced(source: str) -> str:
    """Code in Markdown, with a fence that does not stand in it."""
    longest = max(map(len, re.findall(r"`{3,}", source)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{source}\n{fence}"
