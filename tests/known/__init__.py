"""Known answers to the exercises: wrong ones that a check must catch, right ones of another design.

They are code. `tests/known/LAB/wrong/EXERCISE.py` holds the wrong answers to an exercise, in
cells, below the checks that must fail for them and no others:

    # fails the_cache_is_as_long_as_the_text

    # %% one token short
    # = self.length + n_new => self.length + n_new - 1

Checks in brackets after them fail as well with some seeds: a consequence of the mistake.

A cell changes the reference answer, or it is the whole answer. There are two ways to change it:
`# = old => new` changes a part of one line, which stands only once in the answer. Lines after
`# - ` become the lines that follow them. A cell may have several of both; the parts change first.
`# of: TITLE` above them changes the variant of that title instead. A class that inherits from its
own name changes the reference's methods. `right/EXERCISE.py` holds right answers, each a whole
one. Values of answer cells are made rather than written, by exercise, in
`tests/known/LAB/answers.py`: MUTANTS has (title, checks that fail, text), VARIANTS has
{title: text}.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import ModuleType

from autograder.builder.blank import BEGIN, END
from autograder.builder.source import Lab, SourceCell, solved_text

HERE = Path(__file__).resolve().parent
FAILS, TITLE, OF = "# fails ", "# %% ", "# of: "
OLD, PART, ARROW = "# -", "# = ", " => "


@dataclass(frozen=True)
class Mutant:
    """A wrong answer that real students give: the whole cell.

    caught_by: the checks that fail. may_fail: those that fail as well with some seeds.
    """

    exercise: str
    title: str
    caught_by: tuple[str, ...]
    source: str
    may_fail: tuple[str, ...] = ()

    def fits(self, failed: Iterable[str]) -> bool:
        """Whether these are the checks that fail."""
        return {*self.caught_by} <= {*failed} <= {*self.caught_by, *self.may_fail}


@dataclass(frozen=True)
class Variant:
    """A right answer that is not the reference's: the whole cell."""

    exercise: str
    title: str
    source: str


@cache
def mutants_of(lab: Lab) -> list[Mutant]:
    """All wrong answers of a lab. Raises: ValueError naming the file and cell that fits nothing."""
    found = []
    for cell, path in _files(lab, "wrong"):
        right = {each.title: each.source for each in variants_of(lab) if each.exercise == cell.name}
        solved = _plain(solved_text(cell))
        for (caught_by, may_fail), title, text in _cells(path):
            try:
                source = _answer(text, solved, cell.name, right)
            except ValueError as error:
                raise ValueError(f"{path}, {title!r}: {error}") from None
            found.append(Mutant(cell.name, title, caught_by, source, may_fail))
    made = _made(lab, "MUTANTS").items()
    return [*found, *(Mutant(name, *row) for name, rows in made for row in rows)]


@cache
def variants_of(lab: Lab) -> list[Variant]:
    """All right answers of a lab besides the reference."""
    found = [
        Variant(cell.name, title, text)
        for cell, path in _files(lab, "right")
        for _, title, text in _cells(path)
    ]
    made = _made(lab, "VARIANTS").items()
    return [*found, *(Variant(name, *row) for name, rows in made for row in rows.items())]


def steps_of(lab: Lab) -> dict[str, tuple[str, ...]]:
    """Checks that cannot fail alone: by name, those that fail with it."""
    return getattr(_answers(lab), "STEPS", {})


def _files(lab: Lab, kind: str) -> Iterator[tuple[SourceCell, Path]]:
    for cell in lab.exercises:
        path = HERE / lab.topic / kind / f"{cell.name}.py"
        if path.exists():
            yield cell, path


def stray_files(lab: Lab) -> Iterator[tuple[str, Path]]:
    """Files of known answers whose name is no exercise's: nothing would ever read them."""
    names = {cell.name for cell in lab.exercises}
    for kind in ("wrong", "right"):
        for path in sorted((HERE / lab.topic / kind).glob("*.py")):
            if path.stem not in names:
                yield kind, path


def _answers(lab: Lab) -> ModuleType | None:
    """The lab's `answers.py`; None if it has none."""
    if not (HERE / lab.topic / "answers.py").is_file():
        return None
    return import_module(f"tests.known.{lab.topic}.answers")


def _made(lab: Lab, name: str) -> dict:
    """What the lab's `answers.py` makes, by exercise, if it has one."""
    return getattr(_answers(lab), name, {})


def _cells(path: Path) -> Iterator[tuple[tuple[tuple[str, ...], ...], str, str]]:
    """The cells of a file: the checks that fail and those that may fail, the title, the text."""
    caught_by: tuple[tuple[str, ...], ...] = ((), ())
    for block in re.split(rf"^(?={TITLE}|{FAILS})", path.read_text(encoding="utf-8"), flags=re.M):
        if block.startswith(FAILS):
            words, _, more = block.removeprefix(FAILS).replace("#", " ").partition("(")
            caught_by = tuple(words.split()), tuple(more.replace(")", " ").split())
        elif block.startswith(TITLE):
            title, _, text = block.removeprefix(TITLE).partition("\n")
            yield caught_by, title, text.strip("\n") + "\n"


def _answer(text: str, solved: str, exercise: str, variants: dict[str, str]) -> str:
    """The whole answer that a cell stands for. variants: right answers by title."""
    if text.startswith(OF):
        title, _, text = text.removeprefix(OF).partition("\n")
        if title not in variants:
            raise ValueError(f"{exercise} has no variant {title!r}")
        solved = variants[title]
    if text.startswith((OLD, PART)):
        return _edited(solved, text)
    is_derived = text.startswith(f"class {exercise}({exercise}):")
    return f"{solved}\n\n{text}" if is_derived else text


def _edited(solved: str, edits: str) -> str:
    """The reference with its parts replaced, then each run of `# - ` lines by the lines below it.

    Raises: ValueError unless what is old stands in it once; lines may have any indentation.
    """
    lines = _with_new_parts(solved, edits).splitlines()
    for old, new in _hunks(edits):
        places = [
            i for i in range(len(lines)) if _dedented(lines[i : i + len(old)]) == "\n".join(old)
        ]
        if len(places) != 1:
            raise ValueError(f"{old[0]!r} stands {len(places)} times in the answer, not once")
        first = lines[places[0]]
        indent = first[: len(first) - len(first.lstrip())]
        replaced = textwrap.indent("\n".join(new), indent).splitlines()
        lines[places[0] : places[0] + len(old)] = replaced
    return "\n".join(lines) + "\n"


def _with_new_parts(solved: str, edits: str) -> str:
    """The reference with the left side of each `# = old => new` replaced by the right side."""
    for line in edits.splitlines():
        if line.startswith(PART):
            old, arrow, new = line.removeprefix(PART).partition(ARROW)
            if not arrow:
                raise ValueError(f"{line!r} has no {ARROW!r}")
            if (n := solved.count(old)) != 1:
                raise ValueError(f"{old!r} stands {n} times in the answer, not once")
            solved = solved.replace(old, new)
    return solved


def _hunks(edits: str) -> Iterator[tuple[list[str], list[str]]]:
    """The edits one by one: lines of the reference, and those that take their place, if any."""
    lines = re.sub(f"^{PART}.*", "", edits, flags=re.M).strip("\n").splitlines()
    runs = [list(run) for _, run in groupby(lines, lambda line: line[:3] == OLD)]
    for old, new in zip(runs[::2], [*runs[1::2], []], strict=False):
        yield [line[len(OLD) + 1 :] for line in old], [line for line in new if line.strip()]


def _dedented(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines))


def _plain(solved: str) -> str:
    """The reference without nbgrader's markers."""
    lines = solved.splitlines()
    return "\n".join(line for line in lines if line.strip() not in (BEGIN, END)) + "\n"
