"""Known mistakes in code, found by playing the known wrong answers on the cases that students see.

    .venv/bin/python -m tests.mistakes

writes `labkit/labs/LAB/mistakes.json`, which the product reads, and `docs/mistakes/LAB.md` from it.
A mistake keeps its number as long as its sentence stays. Questions with an answer cell have none:
a page would give the answer away.
"""

import json
import re
from collections import defaultdict
from collections.abc import Container, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from autograder.builder.source import Lab, read_labs
from autograder.places import REPOSITORY
from autograder.proof.matrix import namespace_of
from labkit.bridge.local import local_student
from labkit.checks.core import Check, Finding, checks_of, open_cases_of, play_check
from labkit.checks.kernel import TookTooLong, time_limit
from labkit.checks.unjudged import is_stop, judged
from labkit.checks.why.mistakes import Mistake, mistakes_of
from tests.known import mutants_of

LIMIT_S = 20
MOST_SEEN = 4
OR = " Or: "
PAGE = """\
# Known mistakes in lab {number}

The checks of this lab name these mistakes in code. Notebooks, students' pages and class reports use
their numbers. Below each stand wrong answers that make it, and what the check says in the smallest
case in which it was seen. `python -m tests.mistakes` writes this page.
"""
EXERCISE = """\
## {exercise}

Read [{section}](../../notebooks/{lab}.ipynb) first.
"""
ENTRY = """\
### {number}

{says}

- **The claim that fails:** {claim}
- **Wrong answers like this:** {seen}
- **The smallest case:** {case}
"""


def json_path(lab: Lab) -> Path:
    return REPOSITORY / "labkit/labs" / lab.topic / "mistakes.json"


def page_path(lab: Lab) -> Path:
    return REPOSITORY / "docs/mistakes" / f"{lab.name}.md"


def labs() -> list[Lab]:
    """The labs in which students write code that checks judge."""
    return [lab for lab in read_labs() if lab.exercises]


def found_in(lab: Lab, titles: Container[tuple[str, str]] = ()) -> list[Mistake]:
    """The mistakes of a lab by number: the old ones keep theirs, new ones come after the last."""
    plays: dict[tuple[str, str], list[tuple[str, Finding]]] = defaultdict(list)
    for title, finding in _plays(lab, titles):
        for says in filter(_is_general, finding.cause.split(OR)):
            plays[finding.check.exercise, says].append((title, finding))
    for exercise, says in [*plays]:  # what only joins others is no mistake of its own
        if any(one == exercise and part != says and part in says for one, part in plays):
            del plays[exercise, says]
    numbers = {(each.exercise, each.says): each.number for each in mistakes_of(lab.topic)}
    last = max((int(number.partition(".")[2]) for number in numbers.values()), default=0)
    for key in plays:
        if key not in numbers:
            last += 1
            numbers[key] = f"{lab.number}.{last}"
    found = [_mistake(numbers[key], *key, plays[key]) for key in plays]
    return sorted(found, key=lambda each: int(each.number.partition(".")[2]))


def _plays(lab: Lab, titles: Container[tuple[str, str]] = ()) -> Iterator[tuple[str, Finding]]:
    """What a notebook says to known wrong answers in code: the title, and each cross.

    titles: of those that are played, with their exercises; all if there are none.
    """
    checks, cases = checks_of(lab.topic), open_cases_of(lab.topic)
    names = {cell.name for cell in lab.exercises}
    for mutant in mutants_of(lab):
        if mutant.exercise not in names or (
            titles and (mutant.exercise, mutant.title) not in titles
        ):
            continue
        try:
            with time_limit(LIMIT_S), redirect_stdout(StringIO()):
                student = local_student(namespace_of(lab, {mutant.exercise: mutant.source}))
                found = judged([play_check(check, student, cases[mutant.exercise])
                                for check in checks[mutant.exercise]])  # fmt: skip
        except (TookTooLong, Exception):  # an answer that ends its cell has no mistake to name
            continue
        for finding in found:
            if finding.status == "failed" and not is_stop(finding):
                yield mutant.title, finding


def _is_general(cause: str) -> bool:
    """Whether a cause is a sentence on a mistake: not the name of a value, nor about one play."""
    return cause.endswith(".") and "[" not in cause and not re.search(r"[Rr]ow \d\d", cause)


def _mistake(number: str, exercise: str, says: str, plays: list[tuple[str, Finding]]) -> Mistake:
    alone = [play for play in plays if play[1].cause == says] or plays
    smallest = min((finding for _, finding in alone), key=lambda each: len(each.message))
    case = smallest.message.removesuffix(smallest.cause).rstrip()
    seen = tuple(dict.fromkeys(title for title, _ in alone))[:MOST_SEEN]
    return Mistake(number, exercise, smallest.check.name, says, case, seen)


def as_json(found: list[Mistake]) -> str:
    """A row a line, so that a changed mistake is one changed line."""
    fields = Mistake.__slots__
    rows = [json.dumps({name: getattr(each, name) for name in fields}, ensure_ascii=False)
            for each in found]  # fmt: skip
    return "[\n" + ",\n".join(rows) + "\n]\n"


def page_of(lab: Lab, found: list[Mistake]) -> str:
    """The page of a lab, exercise by exercise."""
    parts, claims = [PAGE.format(number=lab.number)], _claims(lab)
    for cell in lab.exercises:
        own = [each for each in found if each.exercise == cell.name]
        if own:
            section = _escaped(own[0].facts(lab.topic)["Read"])
            parts.append(EXERCISE.format(exercise=cell.name, section=section, lab=lab.name))
        parts += [_entry(each, claims[each.check].claim) for each in own]
    return "\n".join(parts)


def _claims(lab: Lab) -> dict[str, Check]:
    return {each.name: each for checks in checks_of(lab.topic).values() for each in checks}


def _entry(each: Mistake, claim: str) -> str:
    case = "\\\n  ".join(_escaped(line.strip()) for line in each.case.splitlines())
    seen = "; ".join(f'"{_escaped(title)}"' for title in each.seen)
    return ENTRY.format(
        number=each.number, says=_escaped(each.says), claim=_escaped(claim), seen=seen, case=case
    )


def _escaped(text: str) -> str:
    """Text as Markdown shows it; `code` stays code."""
    parts = re.split(r"(`[^`]+`)", text)
    parts[::2] = [re.sub(r"([*_<\[|#~$])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def main() -> None:
    """Write the lists and the pages of all labs."""
    for lab in labs():
        found = found_in(lab)
        json_path(lab).write_text(as_json(found), encoding="utf-8")
        page_path(lab).parent.mkdir(exist_ok=True)
        page_path(lab).write_text(page_of(lab, found), encoding="utf-8")
        print(page_path(lab).relative_to(REPOSITORY), len(found))


if __name__ == "__main__":
    main()
