"""`AGENTS.md` of a lab: how an AI assistant may help, made from the lab's claims and hints.

`dialogues.md` in autograder/labs/LAB has a good and a bad dialogue about the lab.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from string import Template

from autograder.builder.ai import HERE, WORK_LOG
from autograder.builder.source import Lab, SourceCell, read_course
from autograder.places import REPOSITORY
from labkit.checks.core import checks_of
from labkit.checks.why.mistakes import mistakes_of

NAME = "AGENTS.md"
DIALOGUES = "dialogues.md"
HEAD = "\n## The parts, and what each check says\n"
TABLE = "| the check's claim | its hint |\n|---|---|\n"
KNOWN = "\nKnown mistakes, as the check names them:\n\n"
_ITEM = re.compile(r"^# \* \*(.*)\*$", re.MULTILINE)  # what earns points of the work log


def agents_file(lab: Lab) -> str:
    """The file, as the course's rule wants it."""
    course = read_course()
    title = lab.cells[0].text.splitlines()[0].lstrip("# ")
    rubric = "\n".join(f"- {item}" for item in _ITEM.findall(WORK_LOG.read_text(encoding="utf-8")))
    text = Template((HERE / f"{course.ai}.md").read_text(encoding="utf-8"))
    head = text.substitute(title=title, course=course.title, rubric=rubric)
    if course.ai == "none":
        return head
    mistakes = sentences_of(lab.topic)
    told = dialogues_of(lab.topic) if course.ai == "tutor" else ""
    return head + told + HEAD + "".join(_parts(lab, mistakes))


def sentences_of(topic: str) -> dict[str, list[str]]:
    """What the checks say of known mistakes, by exercise."""
    found: dict[str, dict[str, None]] = {}
    for mistake in mistakes_of(topic):
        found.setdefault(mistake.exercise, {})[mistake.says] = None
    return {name: [*sentences] for name, sentences in found.items()}


def _parts(lab: Lab, mistakes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The claims, hints and known mistakes of each part."""
    checks = checks_of(lab.topic)
    for cell in _checked(lab):
        rows = "".join(f"| {each.claim} | {each.hint} |\n" for each in checks[cell.name])
        unit = "point" if cell.points == 1 else "points"
        yield f"\n### `{cell.name}`, {cell.points:g} {unit}\n\n{TABLE}{rows}"
        if own := mistakes.get(cell.name):
            yield KNOWN + _list(own)


def _list(sentences: Sequence[str]) -> str:
    return "".join(f"- {sentence}\n" for sentence in sentences)


def dialogues_of(topic: str) -> str:
    """A good and a bad dialogue about this lab; those of any lab where it has none of its own."""
    own = REPOSITORY / "autograder/labs" / topic / DIALOGUES
    path = own if own.is_file() else HERE / DIALOGUES
    return f"\n## Dialogues\n\n{path.read_text(encoding='utf-8')}"


def _checked(lab: Lab) -> list[SourceCell]:
    checks = checks_of(lab.topic)
    return [cell for cell in lab.marked if cell.name in checks]
