"""The sentences that people read, taken out of every file that holds some.

`PYTHONPATH=. python tests/helpers/prose.py` prints each sentence that breaks the style of
CONTRIBUTING.md; `--table` prints how hard the notebook of each lab is to read.
"""

import argparse
import ast
import re
import statistics
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pyphen

from autograder.builder.measured import fill
from autograder.builder.source import read_labs
from autograder.places import REPOSITORY

DOCS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "data/README.md")
PROGRAM = (
    "autograder/*.py",
    *(
        f"autograder/{part}/**/*.py"
        for part in "course desk exports grading intake pages record".split()
    ),
    "autograder/builder/*.py",
    "autograder/builder/website/*.py",
    "autograder/judging/*.py",
    "autograder/proof/*.py",
    "autograder/pages/templates/*.html",
    "autograder/desk/templates/*.html",
    "labkit/cli.py",
    *(f"labkit/{part}/*.py" for part in "bridge checks measuring tasks zoo".split()),
)
LABS = (
    "notebooks/source/*.py",
    "labkit/*.py",
    "labkit/labs/**/*.py",
    "autograder/labs/*/answers.py",
    "data/papers/**/*.toml",
    "autograder/labs/papers/keys/**/*.toml",
)
NO_PROSE = re.compile(
    r"\(\?[:!i]|\{\{|<!DOCTYPE|^\s*(?:select|create table) |^\w[\w.]* = "
    r"|^def |^Shapes:|^Source:|\btls:$",
    re.MULTILINE,
)

CODE, FORMULA = "`x`", "`y`"
ENDS = re.compile(r"""(?<=[^.][.?!])["')]*\s+""")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|et al|vs|eq|Fig|fig|Eq|Sec|No|cf|St|approx)\.\s")
CHINESE = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
VOWELS = re.compile(r"[aeiouy]+(?!d?s?$)|[aeiouy]{2,}")
WORD = re.compile(r"[A-Za-z0-9_`][\w`'’.,×/%-]*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, or a text without an end, and where it stands."""

    path: str
    line: int
    text: str

    @property
    def words(self) -> list[str]:
        return WORD.findall(self.text)

    @property
    def is_whole(self) -> bool:
        """Whether it ends as a sentence does; headings and cells of tables do not."""
        return self.text.rstrip("\"')*_ ").endswith((".", "?", "!"))


def sentences_of(*patterns: str) -> list[Sentence]:
    """All sentences in the files that these patterns name."""
    paths = sorted({path for pattern in patterns for path in REPOSITORY.glob(pattern)})
    return [sentence for path in paths for sentence in _read(path)]


def _read(path: Path) -> Iterator[Sentence]:
    text, name = path.read_text(encoding="utf-8"), str(path.relative_to(REPOSITORY))
    if path.suffix == ".md":
        passages = markdown_passages(text)
    elif path.suffix == ".html":
        passages = html_passages(text)
    elif path.suffix == ".toml":
        passages = toml_passages(tomllib.loads(text), text)
    elif path.parent.name == "source":
        passages = notebook_passages(fill(text))
    else:
        passages = python_passages(text, path)
    for line, passage in passages:
        for sentence in split(passage):
            yield Sentence(name, line, sentence)


def split(passage: str) -> list[str]:
    """The English sentences of a passage."""
    text = ABBREVIATIONS.sub(r"\1_ ", " ".join(passage.split()))
    return [part for part in ENDS.sub("\n", text).split("\n") if part and not CHINESE.search(part)]


def notebook_passages(source: str) -> Iterator[tuple[int, str]]:
    """The Markdown cells of a lab's source."""
    cells = re.split(r"^(?=# %%)", source, flags=re.MULTILINE)
    line = 1
    for cell in cells:
        if cell.startswith("# %% [markdown]"):
            prose = re.sub(r"^# ?", "", cell.partition("\n")[2], flags=re.MULTILINE)
            yield from ((line + 1 + n, text) for n, text in markdown_passages(prose, first=0))
        line += cell.count("\n")


def markdown_passages(text: str, first: int = 1) -> Iterator[tuple[int, str]]:
    """(line, paragraph, item or cell of a table) without code and formulas."""
    block: list[str] = []
    begin, is_code = first, False
    for line, raw in enumerate(text.splitlines(), first):
        stripped = raw.strip()
        is_fence = stripped.startswith(("```", "$$"))
        is_item = re.match(r"([*+-]|\d+\.|#+|>)\s", stripped)
        is_table = stripped.startswith("|")
        is_aside = stripped.startswith("<!--") or re.match(r"\[\w+\]: \S+$", stripped)
        if is_fence or is_code or is_item or is_table or is_aside or not stripped:
            yield from _flush(begin, block)
            block, begin = [], line
        if is_fence:
            is_code = not is_code and not (stripped[:2] == "$$" and stripped[2:].endswith("$$"))
        elif is_table and not is_code:
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                yield from _flush(line, [cell.strip().rstrip(".")])  # a cell is no sentence
        elif not is_code and not is_aside:
            block.append(re.sub(r"^([*+-]|\d+\.|#+|>)\s+", "", stripped))
    yield from _flush(begin, block)


def _flush(line: int, block: list[str]) -> Iterator[tuple[int, str]]:
    text = plain(" ".join(block))
    if len(WORD.findall(text)) > 1:
        yield line, text


def plain(text: str) -> str:
    """Markdown as words: code and formulas become one word each, links their text."""
    text = re.sub(r"`+[^`]+`+", CODE, text)
    text = re.sub(r"\$[^$\n]+\$", FORMULA, text)
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"<?https?://[^\s>)]+>?", CODE, text)
    return re.sub(r"</?[a-z][^>]*>|[*]+|(?<!\w)_+|_+(?!\w)", "", text)


def html_passages(text: str) -> Iterator[tuple[int, str]]:
    """The words of a page's template, block by block."""
    text = re.sub(r"<style>.*?</style>|\{#.*?#\}", "", text, flags=re.DOTALL)
    text = re.sub(r"<code>.*?</code>|\{\{.*?\}\}", CODE, text, flags=re.DOTALL)
    text = re.sub(r"\{%.*?%\}", "", text, flags=re.DOTALL)
    text = re.sub(r"</?(a|b|i|em|strong|span)\b[^>]*>", "", text)
    for line, row in enumerate(text.splitlines(), 1):
        for part in re.split(r"<[^>]*>", row):
            if len(WORD.findall(part)) > 1:
                yield line, unescape(part)


def toml_passages(value: Any, text: str) -> Iterator[tuple[int, str]]:
    """The texts of some words in a TOML file, whose content is `text`."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from toml_passages(each, text)
    elif isinstance(value, str) and value.count(" ") > 2:
        yield from markdown_passages(value, 1 + text.count("\n", 0, max(text.find(value[:40]), 0)))


def python_passages(text: str, path: Path) -> Iterator[tuple[int, str]]:
    """Texts in a program: string literals of some words, claims of checks, some docstrings."""
    tree = ast.parse(text)
    is_read_whole = path.name == "cli.py" or path.parent.name == "labkit"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            is_claim = any("check" in ast.unparse(each) for each in node.decorator_list)
            if is_claim or is_read_whole:
                yield from docstring_passages(node, is_claim)
    no_literals = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    no_literals |= {id(p) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for p in n.values}
    for node in ast.walk(tree):
        literal = "" if id(node) in no_literals else literal_in(node)
        if len(re.findall(r"\b[a-z]+\b", literal)) > 2 and not NO_PROSE.search(literal):
            for line, passage in markdown_passages(literal, node.lineno):
                yield line, re.sub(r"\{\w*\}", CODE, passage)


def docstring_passages(node: ast.AST, is_claim: bool) -> Iterator[tuple[int, str]]:
    """The first line, which is a sentence in a claim and a title elsewhere; then the rest."""
    title, _, rest = ast.get_docstring(node).partition("\n")
    yield node.lineno, plain(title if is_claim else title.rstrip("."))
    for paragraph in re.split(r"\n\n|\n(?=Shapes:|Source:|Raises:|Returns)", rest):
        if not NO_PROSE.search(paragraph.strip()):
            yield from markdown_passages(paragraph, node.lineno)


def literal_in(node: ast.AST) -> str:
    """The text of a string literal; what an f-string fills in counts as code."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else CODE for part in node.values)
        return "".join(map(str, parts))
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else ""


def grade(sentences: list[Sentence]) -> float:
    """The school year that a text asks for. Source: Kincaid et al. 1975, table 4."""
    hyphens = pyphen.Pyphen(lang="en_US")
    words = [word.strip("`").lower() for sentence in sentences for word in sentence.words]
    syllables = sum(
        max(1 + len(hyphens.positions(word)), len(VOWELS.findall(word))) for word in words
    )  # hyphens leave out syllables of one letter
    return 0.39 * len(words) / len(sentences) + 11.8 * syllables / len(words) - 15.59


def table() -> str:
    """For each lab: sentences of its notebook's prose, their median length, their grade."""
    rows = [f"{'lab':<22}{'sentences':>10}{'words, median':>15}{'longest':>9}{'grade':>7}"]
    for lab in read_labs():
        whole = [s for s in sentences_of(f"notebooks/source/{lab.name}.py") if s.is_whole]
        lengths = [len(sentence.words) for sentence in whole]
        rows.append(
            f"{lab.name:<22}{len(whole):>10}{statistics.median(lengths):>15g}"
            f"{max(lengths):>9}{grade(whole):>7.1f}"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="*", metavar="PATTERN", help="files; all if not given")
    parser.add_argument("--table", action="store_true", help="how hard each lab is to read")
    given = parser.parse_args()
    if given.table:
        print(table())
    else:
        from prose_rules import report

        print(report(sentences_of(*(given.pattern or (*DOCS, *PROGRAM, *LABS)))))
