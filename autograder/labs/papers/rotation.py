"""Which papers fill the places of lab 8 that change from term to term.

`[papers]` of notebooks/course.toml names them. `autograder build` writes them into
`data/papers/rotation.json`, which the students' labkit reads.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from autograder.errors import Refusal
from autograder.labs.papers.key import FOLDER, read_key
from autograder.places import REPOSITORY
from labkit.labs.papers.items import rotating_item

DEFAULT = {"q10": "eagle_3", "q12": "sarathi_serve"}  # where course.toml names none
PAPERS = REPOSITORY / "data/papers"


def settings_files(papers: Mapping[str, str]) -> dict[Path, bytes]:
    """The file that says what stands in which place. Raises: Refusal, naming the place."""
    text = json.dumps(rotation_from(papers), indent=4)
    return {PAPERS / "rotation.json": f"{text}\n".encode()}


def rotation_from(papers: Mapping[str, str]) -> dict[str, str]:
    """The name of the item in each place that changes. Raises: Refusal, naming the place."""
    known, seen = rotating_names(), {}
    for place in papers:
        if place not in DEFAULT:
            _refuse(place, f"this place does not change; {' and '.join(DEFAULT)} do")
    for place, name in (DEFAULT | dict(papers)).items():
        if name not in known:
            _refuse(place, f"there is no question {name!r}; there are {', '.join(known)}")
        if name in seen:
            _refuse(place, f"{name} stands in {seen[name]} already")
        seen[name] = place
        try:
            read_key(rotating_item(name, place), FOLDER)
        except ValueError as error:
            _refuse(place, str(error))
    return {place: name for name, place in seen.items()}


def rotating_names() -> list[str]:
    """What can stand in such a place."""
    return sorted(path.stem for path in (PAPERS / "rotating").glob("*.toml"))


def _refuse(place: str, why: str) -> None:
    raise Refusal(f"notebooks/course.toml, [papers], {place}: {why}")
