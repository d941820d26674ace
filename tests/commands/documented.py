"""Every command of the kit that a document, or the Makefile, tells a person to give.

`python tests/commands/documented.py` lists them.
"""

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "data/README.md")),
    *sorted((REPOSITORY / "docs").glob("*.md")),
    REPOSITORY / "Makefile",
]
CHAPTER_PLAYED_ELSEWHERE = re.compile(r"^## For TAs.*?(?=^## )", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
PROGRAM = re.compile(
    r"(?:\w+=\S* )*(?:\S*/bin/)?"  # PYTHONPATH=. .venv/bin/
    r"(?:(?:make|autograder|labkit|jupyter|dask) [^\s\d]|python3? (?:-m \S|\S*tests/))"
)
PREPARES = re.compile(r"(?:export|rm|sed) ")  # the next command of a block needs it
TARGET = re.compile(r"^([a-z][\w-]*):(?!=)", re.MULTILINE)


@dataclass(frozen=True)
class Documented:
    """A command; is_step: it stands in a block, after those before it."""

    page: str
    text: str
    is_step: bool = True

    @property
    def is_command(self) -> bool:
        """Whether it is one of the kit's, rather than a line that prepares one."""
        return not PREPARES.match(self.text)


def commands_of(path: Path) -> Iterator[Documented]:
    """The commands of a page in its order; those of a block as often as they stand there."""
    name, text = path.relative_to(REPOSITORY).as_posix(), path.read_text(encoding="utf-8")
    if path.name == "Makefile":
        yield from (Documented(name, f"make {target}") for target in TARGET.findall(text))
        return
    if path.name == "README.md" and path.parent == REPOSITORY:
        text = CHAPTER_PLAYED_ELSEWHERE.sub(_without_transcript, text)
    place = 0
    for fence in FENCE.finditer(text):
        yield from _inline(name, text[place : fence.start()])
        for line in _lines(fence[3]):
            yield from (Documented(name, each) for each in _simple_commands(line))
        place = fence.end()
    yield from _inline(name, text[place:])


def _without_transcript(chapter: re.Match) -> str:
    """tests/autograder/test_readme.py plays what this chapter prints, command by command."""
    return FENCE.sub("", chapter.group())


def _inline(page: str, text: str) -> Iterator[Documented]:
    for code in CODE.findall(text):
        command = " ".join(code.split())
        if PROGRAM.match(command):
            yield Documented(page, command, is_step=False)


def _lines(block: str) -> list[str]:
    """Lines, with what a backslash, or the next line of a synopsis, continues."""
    block = re.sub(r"\\\n\s*", "", block)
    return re.sub(r"\n {8,}(?=\[)", " ", block).splitlines()


def _simple_commands(line: str) -> Iterator[str]:
    """The commands of a line of a block: `$ a && b  # why` has two."""
    line = re.sub(r"(^|\s)#.*", "", line.strip().removeprefix("$ ")).removeprefix("- ")
    for part in line.removeprefix("run: ").split(" && "):
        command = " ".join(part.split())
        if PROGRAM.match(command) or PREPARES.match(command):
            yield command


def documented() -> list[Documented]:
    """All commands, page by page. A command in running text counts once."""
    found: list[Documented] = []
    seen: set[str] = set()
    for path in PAGES:
        for command in commands_of(path):
            if command.is_step or command.text not in seen:
                found.append(command)
            seen.add(command.text)
    return found


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for each in documented():
        print(f"{each.page}: {each.text}")
    n = len({each.text for each in documented() if each.is_command})
    print(f"{n} commands")
