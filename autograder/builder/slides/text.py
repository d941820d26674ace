"""Text for a hall: what a slide takes of a paragraph, a docstring or code, and whether it fits."""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil

import mistune
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

WORDS = 38  # of a paragraph, and 40 with its signs: more is not read while somebody speaks
OF_NOTEBOOKS = re.compile(r"\b(cells?|notebook|TODO|points|hand in|below|A check|Look at)\b")
ROOM, LINE, CODE_LINE, ROW = 570, 28, 26, 28  # pixels, in the least letters
LETTERS, CODE_LETTERS, TABLE_LETTERS = 100, 64, 88  # in a line
ANSWER_LINES = ROOM // CODE_LINE - 1

to_html = mistune.create_markdown(escape=False, plugins=["table", "strikethrough"])
_code_style = HtmlFormatter(nowrap=True)


def blocks(text: str) -> list[str]:
    """Paragraphs, lists, tables and code, each whole."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    found = []
    for i, part in enumerate(parts):
        found += [part] if i % 2 else [each for each in part.split("\n\n") if each.strip()]
    return [each.strip("\n") for each in found]


def is_paragraph(block: str) -> bool:
    return not re.match(r"```|\||[*-] |\d+\. |!\[|>|#", block)


def lead(paragraph: str, n_words: int = WORDS) -> str:
    """Its first sentences, and the last one if it announces what follows.

    Sentences on work in the notebook are left out.
    """
    every = _sentences(paragraph)
    sentences = [each for each in every if not OF_NOTEBOOKS.search(each)] or every[:1]
    announced = [sentences.pop()] if len(sentences) > 1 and sentences[-1].endswith(":") else []
    kept: list[str] = []
    for sentence in sentences:
        if _n_words([*kept, sentence, *announced]) > n_words:
            break
        kept.append(sentence)
    return " ".join([*kept, *announced] if kept else sentences[:1])


def in_short_paragraphs(block: str) -> Iterator[str]:
    """The whole of a paragraph, in pieces that are short; any other block as `short` has it."""
    if not is_paragraph(block):
        yield short(block)
        return
    piece: list[str] = []
    for sentence in _sentences(block):
        if sentence.startswith("(") and OF_NOTEBOOKS.search(sentence):
            continue
        if piece and _n_words([*piece, sentence]) > WORDS:
            yield " ".join(piece)
            piece = []
        piece.append(sentence)
    yield " ".join(piece)


def short(block: str) -> str:
    """A list whose items have their first sentences only, if they are long."""
    parts = re.split(r"^((?:[*-]|\d+\.) )", block, flags=re.MULTILINE)
    if len(parts) == 1 or parts[0]:
        return block
    items = [lead(each) if _n_words([each]) > WORDS else each.strip() for each in parts[2::2]]
    return "\n".join(map("".join, zip(parts[1::2], items, strict=True)))


def fitting(found: Iterable[str]) -> list[str]:
    """The first blocks of a text that a slide has room for."""
    kept: list[str] = []
    for block in found:
        if sum(map(height, [*kept, block])) > ROOM:
            break
        kept.append(block)
    return kept


def height(block: str) -> int:
    """Of a block of Markdown, in pixels; too much for a table that is too wide."""
    lines = block.splitlines()
    if block.startswith("```"):
        return CODE_LINE * len(lines)
    if block.startswith("|"):
        return table_height([line.strip("|").split("|") for line in lines if "--" not in line])
    if block.startswith("!["):
        return ROOM
    items = re.split(r"^(?:[*-]|\d+\.) ", block, flags=re.MULTILINE)
    return 12 + LINE * sum(ceil(len(_plain(item)) / LETTERS) for item in items if item.strip())


def table_height(rows: Sequence[Sequence[str]]) -> int:
    """Of a table, in pixels; too much if it is too wide."""
    columns = zip(*(row for row in rows if len(row) == len(rows[-1])), strict=True)
    widths = [max(len(_plain(cell)) for cell in column) + 3 for column in columns]
    return ROW * len(rows) if sum(widths) <= TABLE_LETTERS else 2 * ROOM


def code(text: str) -> str:
    """Code as HTML; of long code the beginning, to an end of a part, and how much is missing."""
    lines = text.strip("\n").splitlines()
    if len(lines) > ANSWER_LINES:
        ends = [i for i in range(4, ANSWER_LINES) if not lines[i].strip()]
        cut = ends[-1] if ends else ANSWER_LINES - 1
        lines = [*lines[:cut], f"# ... and {len(lines) - cut} lines more"]
    html = highlight("\n".join(lines), PythonLexer(), _code_style)
    return f"<pre><code>{html}</code></pre>"


def without_docstrings(text: str) -> str:
    """Code without docstrings and without nbgrader's marks of an answer."""
    lines: list[str | None]
    lines = [None if line.strip().startswith("### ") else line for line in text.splitlines()]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            first, last = node.body[0].lineno, node.body[0].end_lineno
            lines[first - 1 : last] = [None] * (last - first + 1)
    return "\n".join(line for line in lines if line is not None).strip("\n")


def asked(text: str) -> str:
    """What an exercise asks for: what its docstring says first, and what is to be written."""
    (node,) = (
        each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef | ast.ClassDef)
    )
    methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
    methods = [each for each in methods if not re.match(r"_[a-z]", each.name)]
    stubs = [_signature(each) for each in (methods if isinstance(node, ast.ClassDef) else [node])]
    if isinstance(node, ast.ClassDef):
        stubs = [
            f"class {node.name}:",
            *("    " + line for stub in stubs for line in stub.split("\n")),
        ]
    shown = code("\n".join(stubs))
    room = ROOM - CODE_LINE * (len("\n".join(stubs).splitlines()) + 1)
    said: list[str] = []
    for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
        line = lead(" ".join(re.split(r"^(?:Raises|Source):", paragraph, flags=re.M)[0].split()))
        if sum(map(height, [*said, line])) > room:
            break
        said.append(line)
    return "".join(f"<p>{_with_code(line)}</p>" for line in said) + shown


def _signature(node: ast.FunctionDef) -> str:
    """The first line of a function, with an argument on each line if it is long."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"def {node.name}({ast.unparse(node.args)}){returns}: ..."
    if len(line) <= CODE_LETTERS:
        return line
    given = re.split(r", (?=\w+(?::|=|$|,))", ast.unparse(node.args))
    return "\n".join([f"def {node.name}(", *(f"    {each}," for each in given), f"){returns}: ..."])


def _with_code(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _sentences(paragraph: str) -> list[str]:
    """Sentences on one line each; a full stop before a small letter or a digit ends none."""
    line = " ".join(paragraph.split())
    return re.split(r"(?<=[.?!][)*]\*) |(?<=[.?!][)*]) |(?<=[.?!]) (?=[^a-z0-9])", line)


def _n_words(sentences: Sequence[str]) -> int:
    return len(_plain(" ".join(sentences)).split())


def _plain(text: str) -> str:
    """Without the addresses of links and the signs of Markdown."""
    return re.sub(r"\]\([^)]*\)|<[^>]+>|[*`\[\]]", "", text)
