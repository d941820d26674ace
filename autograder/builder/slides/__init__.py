"""A lab as slides for the lecture: its text in steps, figures of the records, answers at a key.

    python -m autograder.builder.slides FOLDER

Nothing is measured. What an experiment shows is there at once if it needs only records and
answers; else its code is there, if it is short. An answer lies below its question: the key down
reveals it, and the key right leaves it out. A deck is one file beside the folder `reveal`, and
needs no network.
"""

import ast
import re
from base64 import b64encode
from collections.abc import Collection, Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

import mistune
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.builder.blank import solved_cell
from autograder.builder.notebooks import student_text
from autograder.builder.pictures import PLACE, picture_path
from autograder.builder.slides.shown import Stage
from autograder.builder.source import Lab, SourceCell, module_source, read_labs
from autograder.files import write_whole

REVEAL = ("reset.css", "reveal.css", "reveal.js")
OWN = ("deck.css", "deck.js")
FULL = 620  # characters: about as much text as a slide holds in a size that a lecture hall can read
LONG = 25  # lines of code: more are no help on a slide
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{styles}
</head>
<body>
<div class="reveal"><div class="slides">
{slides}
</div></div>
<script src="reveal/reveal.js"></script>
<script src="reveal/deck.js"></script>
</body>
</html>
"""

_to_html = mistune.create_markdown(escape=False, plugins=["table", "strikethrough"])
_code_style = HtmlFormatter(nowrap=True)


def write_decks(folder: Path, names: Collection[str] = ()) -> list[Path]:
    """Write the decks of these labs (of all if none is named), and the files that they load."""
    for name, content in _loaded():
        write_whole(folder / "reveal" / name, content)
    decks = {
        folder / f"{lab.name}.html": deck(lab)
        for lab in read_labs()
        if not names or lab.name in names
    }
    for path, page in decks.items():
        write_whole(path, page.encode())
    return [*decks]


def deck(lab: Lab) -> str:
    """The slides of a lab as one page."""
    slides = [_section(each) for each in slides_of(lab)]
    styles = "\n".join(
        f'<link rel="stylesheet" href="reveal/{name}">'
        for name in (*REVEAL, *OWN)
        if name.endswith(".css")
    )
    title = lab.cells[0].text.partition("\n")[0].removeprefix("# ")
    return PAGE.format(title=escape(title), styles=styles, slides="\n".join(slides))


def slides_of(lab: Lab) -> Iterator[list[str]]:
    """The HTML of each slide, followed by the answers shown below its question."""
    stage, heading, stack = Stage(lab), "", []
    for cell in lab.cells:
        stacks: list[list[str]] = []
        if cell.kind in ("given", "exercise"):
            stage.add(cell)
        if cell.kind == "prose":
            for each, body in _steps(_with_picture(lab, cell.text), heading):
                heading = each
                stacks.append([_slide(heading, _to_html(body))])
        elif cell.kind == "written":
            model = cell.text.partition("*Marking")[0]
            stack += [_slide("One answer", _to_html(body)) for _, body in _steps(model, "")]
        elif cell.kind == "answer" and (question := stage.question(cell)):
            title, _, body = question.partition("\n\n")
            both = _to_html(body), _code(cell.text)
            stacks.append([_slide(title.strip("*"), each) for each in both])
        elif cell.kind in ("exercise", "answer"):
            asked, answered = _asked_and_answered(cell)
            stacks += [[_slide(cell.name, piece)] for piece in _pieces(asked)]
            stacks[-1] += [_slide(cell.name, piece) for piece in _pieces(answered)]
        elif cell.kind == "experiment":
            shown = stage.shown(cell)
            code = [_code(cell.text)] if cell.text.count("\n") < LONG else []
            parts = code if shown is None else shown
            stacks += [[_slide(heading, part)] for part in parts]
        if stacks:
            yield from filter(None, (stack, *stacks[:-1]))
            stack = stacks[-1]
    yield stack


def _asked_and_answered(cell: SourceCell) -> tuple[str, str]:
    """The cell that students get, and the answer without the lines that both share."""
    if cell.kind == "answer":
        return student_text(cell), cell.text
    solved = solved_cell(module_source(cell.target.module), cell.target)
    return student_text(cell), _without_docstrings(solved)


def _without_docstrings(code: str) -> str:
    lines: list[str | None]
    lines = [None if line.strip().startswith("### ") else line for line in code.splitlines()]
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node):
            first, last = node.body[0].lineno, node.body[0].end_lineno
            lines[first - 1 : last] = [None] * (last - first + 1)
    return "\n".join(line for line in lines if line is not None).strip("\n")


def _pieces(code: str) -> list[str]:
    """Code in pieces that fit on a slide, cut at empty lines.

    Its colours are given first: half a docstring looks like code.
    """
    pieces: list[str] = []
    for part in highlight(code, PythonLexer(), _code_style).split("\n\n"):
        both = f"{pieces[-1]}\n\n{part}" if pieces else part
        if pieces and both.count("\n") < LONG:
            pieces[-1] = both
        else:
            pieces.append(part)
    return [_in_code(piece.strip("\n")) for piece in pieces]


def _steps(text: str, heading: str) -> Iterator[tuple[str, str]]:
    """A text in pieces that fit on a slide, each below its last heading; one may stand alone."""
    piece: list[str] = []
    is_alone = False
    for block in _blocks(text):
        begins = re.match(r"#+ (.+)", block)
        if piece and (begins or sum(map(len, piece)) + len(block) > FULL):
            kept = [] if begins or len(piece) == 1 or piece[-1][-1] != ":" else [piece.pop()]
            yield heading, "\n\n".join(piece)
            piece = kept
        if begins:
            if is_alone:
                yield heading, ""
            heading, is_alone = begins[1], True
            block = block.partition("\n")[2]
        if block.strip():
            piece.append(block.strip("\n"))
            is_alone = False
    if piece or is_alone:
        yield heading, "\n\n".join(piece)


def _blocks(text: str) -> list[str]:
    """Paragraphs, lists, tables and code, each whole."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    blocks = []
    for i, part in enumerate(parts):
        blocks += [part] if i % 2 else [each for each in part.split("\n\n") if each.strip()]
    return blocks


def _with_picture(lab: Lab, text: str) -> str:
    if not picture_path(lab).exists():
        return text
    url = f"data:image/png;base64,{b64encode(picture_path(lab).read_bytes()).decode()}"
    return PLACE.sub(lambda found: f"![{' '.join(found[1].split())}]({url})", text)


def _slide(heading: str, body: str) -> str:
    words = mistune.html(heading).strip().removeprefix("<p>").removesuffix("</p>")
    return f"<section>\n<h2>{words}</h2>\n{body}\n</section>"


def _section(stack: list[str]) -> str:
    return stack[0] if len(stack) == 1 else "\n".join(["<section>", *stack, "</section>"])


def _code(text: str) -> str:
    return _in_code(highlight(text, PythonLexer(), _code_style))


def _in_code(html: str) -> str:
    return f"<pre><code>{html}</code></pre>"


def _loaded() -> Iterator[tuple[str, bytes]]:
    """What every deck loads: reveal.js, and the look of our slides."""
    theirs = files("sphinx_revealjs") / "_static/revealjs/dist"
    for name in REVEAL:
        yield name, (theirs / name).read_bytes()
    colors = HtmlFormatter(style="default").get_style_defs(".reveal pre")
    for name in OWN:
        own = (files(__package__) / name).read_text(encoding="utf-8")
        yield name, (own + colors if name.endswith(".css") else own).encode()
