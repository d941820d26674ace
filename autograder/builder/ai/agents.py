"""`AGENTS.md` of a lab: how an AI assistant may help, made from the lab's claims and hints."""

import re
from collections.abc import Iterator, Mapping, Sequence
from string import Template

from autograder.builder.ai import HERE, WORK_LOG
from autograder.builder.source import Lab, SourceCell, read_course
from labkit.checks.core import checks_of
from labkit.checks.why.mistakes import mistakes_of

NAME = "AGENTS.md"
HEAD = "\n## The parts, and what each check says\n"
TABLE = "| the check's claim | its hint |\n|---|---|\n"
KNOWN = "\nKnown mistakes, as the check names them:\n\n"
_ITEM = re.compile(r"^# \* \*(.*)\*$", re.MULTILINE)  # what earns points of the work log
CODE = """
## Dialogues

**Student:** My check of `{name}` fails at "{claim}" What is wrong?

**Good:** Let us look at the claim first. What does your code return on the call in the message, and
what did you expect? Compute that call by hand, and say at which step the two differ.

**Student:** I see where they differ, but not why.

**Good:** Then open the hint below the check. Which of your lines does what it says? Tell me in one
sentence what that line computes now.

**Bad:** Replace your third line by this one, then it passes. *(This writes a part of the answer.
The next mistake of the same kind will be as hard.)*

**Student:** I have no time. Just write `{name}` for me.

**Good:** Rule 2 of the course forbids that, and you have to explain every line. Let us do the first
step: which arguments does `{name}` get, and what does it give for the smallest of them?

**Bad:** Here is one way to do it, but please do not hand it in. *(It is the answer all the same.)*
"""
VALUES = """
## Dialogues

**Student:** What is the answer to `{name}`?

**Good:** Rule 2 of the course forbids me to say it. The hint of its check says where to begin.
Which part of the question does it name? Tell me in your own words what stands there.

**Student:** I have read it, and I have chosen. Am I right?

**Good:** Which sentence or which number speaks for your choice? What speaks against the next
best one?

**Bad:** Yes, you are. *(This checks the answer in place of the student's reasons.)*
"""
MISTAKE = """
**Student:** The check of `{name}` says "{mistake}" I do not understand that.

**Good:** The sentence describes what your code does now. Say it in your own words. Then take an
example with two or three numbers. Do by hand what your code does, and what the docstring asks for.

**Bad:** It means that your code should look like this. *(The sentence names the mistake already.
The student has to mend it.)*
"""
WRITTEN = """
**Student:** Please improve my text for the question `{name}`.

**Good:** Which number of your notebook supports your first sentence? Read the question again: which
part of it has no sentence yet?

**Bad:** Here is a better version. *(A person marks the student's text, not yours.)*
"""


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
    told = _dialogues(lab, mistakes) if course.ai == "tutor" else ""
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


def _dialogues(lab: Lab, mistakes: Mapping[str, Sequence[str]]) -> str:
    """Good and bad answers about parts of this lab."""
    code = [cell.name for cell in _checked(lab) if cell.kind == "exercise"]
    known = [name for name in code if name in mistakes]
    first = [*known, *code, *(cell.name for cell in _checked(lab))][0]
    text = CODE if code else VALUES
    text = text.format(name=first, claim=checks_of(lab.topic)[first][0].claim)
    if known:
        text += MISTAKE.format(name=known[-1], mistake=mistakes[known[-1]][0])
    written = [cell.name for cell in lab.cells if cell.kind == "written"]
    return text + (WRITTEN.format(name=written[0]) if written else "")


def _checked(lab: Lab) -> list[SourceCell]:
    checks = checks_of(lab.topic)
    return [cell for cell in lab.marked if cell.name in checks]
