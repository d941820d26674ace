"""Reads the prose of the corpus: the files of `data/corpus`, all of one form.

What stands above the first heading is a note for people. Headings name the parts, `# letters`, then
`## borrow` below it, then `### aim`; a part without further headings is a block of text, of one of
five kinds:

a sentence      Does it ask for the loan of {a_thing}?
a list          a basket of plums, a jar of honey, a warm loaf
a table         the first row names the columns:
                    place | at_place
                    the old bridge | under the old bridge
phrases         the wordings of one thing, each after "- "; lines indented by two go on:
                    - {name} lost {a_thing}.
                    - One day {a_thing} was gone, and {name} could not
                      find it.
beats           phrases parted by blank lines, one beat after another; "~ " begins the wordings of a
                beat that may be left out

`{slots}` are filled when the text is told. A wording is exactly one sentence, so that whoever asks
for six sentences can be given six.
"""

import re
from typing import Any, NamedTuple

from labkit.models.facts import data_path


class Beat(NamedTuple):
    """One step of a text, in several wordings."""

    wordings: tuple[str, ...]
    optional: bool


def read(name: str) -> dict[str, Any]:
    """The parts of `data/corpus/NAME.txt` by heading: blocks, or parts by heading again."""
    return _parts(data_path(f"corpus/{name}.txt").read_text(encoding="utf-8"))


def _parts(text: str, level: int = 1) -> Any:
    """A text's parts by the headings of one level; the text itself if it has no such heading."""
    _, *found = re.split(rf"^{'#' * level} (.+)\n", text, flags=re.MULTILINE)
    if not found:
        return text.strip("\n")
    blocks = zip(found[::2], found[1::2], strict=True)
    return {heading: _parts(block, level + 1) for heading, block in blocks}


def listed(block: str) -> tuple[str, ...]:
    """The words or phrases of a list."""
    return tuple(block.replace("\n", " ").split(", ")) if block else ()


def table(block: str) -> tuple[dict[str, str], ...]:
    """The rows of a table, by column."""
    columns, *rows = (line.split(" | ") for line in block.split("\n"))
    return tuple(dict(zip(columns, row, strict=True)) for row in rows)


def phrases(block: str) -> tuple[str, ...]:
    """The wordings of a block that is one beat."""
    return _beat(block).wordings


def beats(block: str) -> tuple[Beat, ...]:
    """Read the beats of a block.

    Raises: ValueError for a beat whose wordings do not all start with "- ", or all with "~ ".
    """
    return tuple(_beat(part) for part in block.split("\n\n"))


def _beat(part: str) -> Beat:
    lines = part.replace("\n  ", " ").split("\n")
    marks = {line[:2] for line in lines}
    if marks not in ({"- "}, {"~ "}):
        raise ValueError(f'each wording of a beat starts with "- " (or each with "~ "): {part!r}')
    return Beat(tuple(line[2:] for line in lines), optional=marks == {"~ "})
