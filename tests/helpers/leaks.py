"""The lines that would give an answer away, if a student's file held one."""

from collections.abc import Collection, Sequence
from functools import cache

from autograder.builder.blank import blank_values, rewrite_bodies
from autograder.builder.source import Lab, module_source, targets_from
from autograder.builder.wheel import blanked_names


def telling_lines(lab: Lab, labs: Sequence[Lab]) -> set[str]:
    """Lines of the answers of this lab and of later ones, without those too short to tell."""
    answers: set[str] = set()
    for module, blanked in blanked_names(targets_from(lab)).items():
        answers |= solution_lines(module_source(module), blanked)
    for other in labs:
        if other.number >= lab.number:
            texts = [cell.text for cell in other.cells if cell.kind in ("answer", "written")]
            blank = {line for text in texts for line in lines_of(_blank(text))}
            answers |= {line for text in texts for line in lines_of(text)} - blank
    return {line for line in answers if len(line) > 12}


@cache  # most files are the same for all labs
def lines_of(text: str) -> frozenset[str]:
    """The lines of a text, as answers' lines are compared."""
    return frozenset(normalise(line) for line in text.splitlines())


def _blank(text: str) -> str:
    try:
        return blank_values(text)
    except SyntaxError:
        return ""


def solution_lines(source: str, blanked: Collection[str]) -> set[str]:
    """The lines of these names' answers, normalised."""
    lines: set[str] = set()

    def collect(indent: str, body: list[str]) -> list[str]:
        lines.update(normalise(line) for line in body)
        return body

    rewrite_bodies(source, blanked, collect)
    return lines - {""}


def normalise(line: str) -> str:
    """A line of code without its comment and without spaces."""
    return "".join(line.split("#")[0].split())
