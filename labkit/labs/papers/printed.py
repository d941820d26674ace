"""All questions of a student on one page of HTML, in both languages, to print or read offline."""

import re
from collections.abc import Iterable, Sequence
from html import escape

PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Lab 8: questions of {student_id}</title>
<style>
  body {{ margin: 2em auto; max-width: 44em; padding: 0 1em; font: 11pt/1.5 system-ui, sans-serif;
    color: #1f2933; background: #ffffff; }}
  section {{ break-inside: avoid; border-top: 1px solid #9aa5b1; }}
  table {{ border-collapse: collapse; }}
  td, th {{ border: 1px solid #9aa5b1; padding: .1em .6em; text-align: left; }}
  pre {{ background: #f5f7fa; padding: .5em; }}
</style>
</head>
<body>
<h1>Lab 8: questions of {student_id}</h1>
{questions}
</body>
</html>
"""
INLINE = (
    (r"\[([^\]]+)\]\((https://[^)\s]+)\)", r'<a href="\2">\1</a>'),
    (r"`([^`]+)`", r"<code>\1</code>"),
    (r"\*\*(.+?)\*\*", r"<strong>\1</strong>"),
)


def printed_page(student_id: str, questions: Iterable[tuple[str, Sequence[str], str]]) -> str:
    """The page, which needs no network.

    questions: of each the language, paragraphs of Markdown, and HTML that follows, as a figure.
    """
    sections = []
    for language, paragraphs, picture in questions:
        blocks = "\n\n".join(paragraphs).split("\n\n")
        lang = "zh-Hant" if language == "zh" else language
        body = "\n".join(map(_block, blocks))
        sections.append(f'<section lang="{lang}">\n{body}\n{picture}</section>')
    return PAGE.format(student_id=escape(student_id), questions="\n".join(sections))


def _block(text: str) -> str:
    """A block of the Markdown that questions are written in: code, a table, a list or prose."""
    lines = text.split("\n")
    if text.startswith("```"):
        return f"<pre>{escape(chr(10).join(lines[1:-1]))}</pre>"
    if text.startswith("|"):
        head, _, *rows = ([_inline(cell) for cell in line.strip("|").split("|")] for line in lines)
        marked = [_row("th", head), *(_row("td", row) for row in rows)]
        return f"<table>{''.join(marked)}</table>"
    if text.startswith("* "):
        return f"<ul>{''.join(f'<li>{_inline(line[2:])}</li>' for line in lines)}</ul>"
    return f"<p>{_inline(text)}</p>"


def _row(mark: str, cells: list[str]) -> str:
    return f"<tr>{''.join(f'<{mark}>{cell}</{mark}>' for cell in cells)}</tr>"


def _inline(text: str) -> str:
    marked = escape(text.strip(), quote=False)
    for pattern, becomes in INLINE:
        marked = re.sub(pattern, becomes, marked)
    return marked
