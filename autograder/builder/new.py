"""Skeletons of a new lab and of a new exercise: they build, grade and pass the tests at once.

Each is a small exercise that adds numbers. Its author replaces one part after the other.
"""

import keyword
import re
from pathlib import Path
from string import Template

from autograder.builder.source import find_lab
from autograder.errors import Refusal
from autograder.places import REPOSITORY, SOURCES, lab_names
from labkit.checks.names import bound_names

SKELETONS = Path(__file__).resolve().parent / "skeletons"


def new_lab(name: str) -> list[Path]:
    """Write a lab called, for instance, "09_quantization", with a first exercise.

    Returns: the files. Raises: Refusal if the name is taken or is no name of a lab.
    """
    topic = _free_topic(name)
    words = {"number": int(name[:2]), "topic": topic, "title": topic.replace("_", " ").capitalize()}
    packages = {
        f"labkit/labs/{topic}/checks": f"The checks of lab {words['number']}",
        f"autograder/labs/{topic}": f"Lab {words['number']}: what never ships",
        f"autograder/labs/{topic}/cases": f"The hidden cases of lab {words['number']}",
        f"tests/known/{topic}": f"Lab {words['number']}: known wrong and right answers",
    }
    written = {
        SOURCES / f"{name}.py": _filled("lab_source", words),
        REPOSITORY / f"labkit/{topic}.py": _filled("answers", words),
        REPOSITORY / f"labkit/labs/{topic}/__init__.py": _filled("lab_package", words),
        **{REPOSITORY / at / "__init__.py": f'"""{doc}."""\n' for at, doc in packages.items()},
    }
    _write(written)
    return [*written, *_add_exercise(name, f"{topic}_total")]


def new_exercise(lab: str, name: str) -> list[Path]:
    """Write an exercise into a lab: a class if its name begins with a capital, else a function.

    Returns: the files. Raises: Refusal if there is no such lab, or the name is taken or no name.
    """
    try:
        found = find_lab(lab)
    except ValueError as error:
        raise Refusal(f"{error}: `autograder new lab` makes one") from None
    answers = REPOSITORY / f"labkit/{found.topic}.py"
    if not answers.exists():
        raise Refusal(f"{found.name} has no labkit/{found.topic}.py: its answers are not code")
    _refuse_no_identifier(name)
    taken = {cell.name for cell in found.cells} | bound_names(answers.read_text(encoding="utf-8"))
    checks = REPOSITORY / f"labkit/labs/{found.topic}/checks/{_snake(name)}.py"
    if name in taken or checks.exists():
        raise Refusal(f"{found.name} already has something called {name}: take another name")
    return _add_exercise(found.name, name)


def _add_exercise(lab: str, name: str) -> list[Path]:
    topic, snake = lab.partition("_")[2], _snake(name)
    kind = "class" if name[0].isupper() else "function"
    words = {
        "name": name,
        "snake": snake,
        "camel": "".join(part.capitalize() for part in snake.split("_")),
        "topic": topic,
    }
    source, answers = SOURCES / f"{lab}.py", REPOSITORY / f"labkit/{topic}.py"
    known = REPOSITORY / f"tests/known/{topic}"
    written = {
        source: source.read_text(encoding="utf-8") + _filled("exercise_source", words),
        answers: answers.read_text(encoding="utf-8") + _filled(f"{kind}_answer", words),
        REPOSITORY / f"labkit/labs/{topic}/checks/{snake}.py": _filled(f"{kind}_checks", words),
        REPOSITORY / f"autograder/labs/{topic}/cases/{snake}.py": _filled(f"{kind}_cases", words),
        known / f"wrong/{name}.py": _filled(f"{kind}_mutant", words),
        known / f"right/{name}.py": _filled(f"{kind}_variant", words),
        REPOSITORY / f"tests/labs/{topic}/test_{snake}.py": _filled(f"{kind}_test", words),
    }
    _write(written)
    return list(written)


def _filled(skeleton: str, words: dict) -> str:
    text = (SKELETONS / f"{skeleton}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _write(files: dict[Path, str]) -> None:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _free_topic(name: str) -> str:
    """The topic of a lab that there is room for."""
    if not re.fullmatch(r"[0-9]{2}_[a-z][a-z0-9_]*", name) or keyword.iskeyword(name[3:]):
        raise Refusal(
            f"{name!r} is no name of a lab: write two digits and a topic, 09_quantization"
        )
    topic = name[3:]
    taken = [other for other in lab_names() if other[:2] == name[:2] or other[3:] == topic]
    if taken:
        raise Refusal(f"there is a lab {taken[0]}: take another number and topic")
    places = (f"labkit/{topic}", f"labkit/{topic}.py", f"autograder/{topic}")
    for place in places:
        if (REPOSITORY / place).exists():
            raise Refusal(f"{place} is there already: take another topic")
    return topic


def _refuse_no_identifier(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,50}", name) or keyword.iskeyword(name):
        raise Refusal(f"{name!r} is no name of a function or class: use letters, digits and _")


def _snake(name: str) -> str:
    """ "CompressedCache" as "compressed_cache"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
