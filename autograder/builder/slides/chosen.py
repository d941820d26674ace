"""What of a lab belongs into its deck, by the kinds of its cells: one idea on a slide.

A section begins with its first sentences and with the list, table or code that they announce. A
figure has a slide of its own, and so has each exercise and each question. What measures, sets up or
says how to work in the notebook stays there.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from autograder.builder.blank import solved_cell
from autograder.builder.notebooks import student_text
from autograder.builder.pictures import PLACE, picture_path
from autograder.builder.slides import text
from autograder.builder.slides.shown import Shown, Stage
from autograder.builder.source import Lab, SourceCell, module_source

MOST = 45  # slides of a lab
ASKS = re.compile(r"(Question|Written answer): ")
OF_NOTEBOOKS = re.compile(r"Words|.*[Rr]ead next|Your id|How to answer|Your answers|Bonus")
RANKS = {"section": 0, "exercise": 0, "player": 0, "figure": 1, "subsection": 2, "table": 3}
RANKS |= {"more figures": 4, "idea": 5, "numbers": 6}


@dataclass(frozen=True)
class Slide:
    """One slide. answer: takes the place of its body at a key; moments: HTML shown in turn.

    kind: a key of RANKS. If a deck is too long, slides of the highest rank stay away.
    """

    kind: str
    heading: str
    body: str = ""
    answer: str = ""
    moments: tuple[str, ...] = ()


def slides_of(lab: Lab) -> list[Slide]:
    """The slides of a lab, at most `MOST`."""
    slides = [*_opening(lab), *_body(lab)]
    while len(slides) > MOST:
        worst = max(RANKS[slide.kind] for slide in slides)
        last = max(i for i, slide in enumerate(slides) if RANKS[slide.kind] == worst)
        del slides[last]
    return slides


def _opening(lab: Lab) -> Iterator[Slide]:
    """The lab's name above its picture, then what students learn."""
    title, *parts = text.blocks(lab.cells[0].text)
    title = title.partition("\n")[0].removeprefix("# ")
    yield Slide("section", title, text.to_html(_picture(lab)))
    for before, after in pairwise(parts):
        if after.startswith("* "):
            yield Slide("section", before.rstrip(":"), _html([after]))
            return


def _body(lab: Lab) -> Iterator[Slide]:
    stage, heading, n_figures = Stage(lab), "", 0
    question: list[str] = []
    for i, cell in enumerate(lab.cells):
        if cell.kind in ("given", "exercise"):
            stage.add(cell)
        if cell.kind == "prose" and i:
            for kind, each, parts in _steps(cell.text):
                heading, n_figures = each or heading, 0 if kind == "section" else n_figures
                question = parts
                if not ASKS.match(heading) and not OF_NOTEBOOKS.match(heading):
                    yield from _ideas(kind, heading, parts)
        elif cell.kind == "written":
            model = cell.text.partition("*Marking")[0]
            answer = [text.lead(each) for each in text.blocks(model) if text.is_paragraph(each)]
            yield Slide("exercise", heading, _question(question), _html(text.fitting(answer)))
        elif cell.kind == "answer":
            asked = stage.question(cell)  # values are needed even where nothing is shown
            if asked:
                title, *parts = text.blocks(asked)
                kind = "numbers" if cell.name.endswith("_numbers") else "exercise"
                yield Slide(kind, title.strip("*"), _question(parts), text.code(_without_ask(cell)))
            elif cell.points:
                yield Slide("exercise", heading, _question(question), text.code(cell.text))
        elif cell.kind == "exercise":
            solved = solved_cell(module_source(cell.target.module), cell.target)
            answer = text.code(text.without_docstrings(solved))
            yield Slide("exercise", cell.name, text.asked(student_text(cell)), answer)
        elif cell.kind == "experiment":
            for shown in stage.shown(cell):
                if shown.kind == "figure":
                    n_figures += 1
                kind = "more figures" if shown.kind == "figure" and n_figures > 1 else shown.kind
                yield _slide_of(kind, heading, shown)


def _steps(prose: str) -> Iterator[tuple[str, str, list[str]]]:
    """The parts of a text below its headings: what kind, the heading, and the blocks."""
    found = re.split(r"^(#+) (.+)$", prose, flags=re.MULTILINE)
    if found[0].strip():
        yield "idea", "", text.blocks(found[0])
    for signs, heading, body in zip(found[1::3], found[2::3], found[3::3], strict=True):
        kind = "section" if len(signs) == 2 else "subsection"
        yield kind, heading, text.blocks(body)


def _ideas(kind: str, heading: str, parts: list[str]) -> Iterator[Slide]:
    """A slide for the first paragraph, and one for each that announces a list, a table or code."""
    said = ""
    for block in [*parts, ""]:
        if block and not text.is_paragraph(block):
            shown = text.fitting([*([text.lead(said)] if said else []), text.short(block)])
            if text.short(block) in shown:
                yield Slide(kind, heading, _html(shown))
                kind = "idea"
            said = ""
            continue
        if kind != "idea" and said:
            yield Slide(kind, heading, _html([text.lead(said)]))
            kind = "idea"
        said = block


def _question(parts: list[str]) -> str:
    """The end of a text, where the question is; all of it, if a slide has room for it."""
    short = [piece for block in parts for piece in text.in_short_paragraphs(block)]
    return _html(text.fitting(short[::-1])[::-1])


def _without_ask(cell: SourceCell) -> str:
    return "\n".join(line for line in cell.text.splitlines() if not line.startswith("ask("))


def _html(parts: list[str]) -> str:
    return text.to_html("\n\n".join(parts))


def _slide_of(kind: str, heading: str, shown: Shown) -> Slide:
    if shown.kind == "player":
        return Slide(kind, heading, moments=tuple(shown.parts))
    return Slide(kind, heading, "".join(shown.parts))


def _picture(lab: Lab) -> str:
    found = PLACE.search(lab.cells[0].text)
    if not found or not picture_path(lab).exists():
        return ""
    url = f"data:image/png;base64,{b64encode(picture_path(lab).read_bytes()).decode()}"
    return f"![{' '.join(found[1].split())}]({url})"
