"""Reading a lab's one source: `notebooks/source/NN_topic.py` in percent format.

Authors write short keys on a cell's first line; this module turns each cell into a `SourceCell`,
which says what it is, what it is called and what it is worth.

    # %% [markdown]                                             prose
    # %% given="setup"                                          code that students get as it is
    # %% exercise="labkit.memory:n_params" points=1 minutes=30 level=2
                                                               filled in from labkit
    # %% answer="largest_model" points=2                        assignments with the right values
    # %% item="q16_numbers" points=0.25                         an item of data/papers, from its key
    # %% [markdown] written="growth" points=2                   the model answer in prose
    # %% experiment="kv_growth"                                 code to run and change, never marked

Prose takes its measured numbers from the records; see `measured`.
"""

import importlib.util
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from autograder import places
from autograder.builder.ai import RULES, WORK_LOG
from autograder.builder.blank import Target, parse_target, plain_cell, solved_cell
from autograder.builder.measured import fill, with_points
from autograder.builder.percent import PercentCell, cells_of
from autograder.errors import Refusal
from autograder.labs import part_of
from autograder.places import ORAL, REPOSITORY, assignment_of, lab_sources, source_of

_REVISIONS = "[revisions]\n"
KINDS = ("given", "exercise", "answer", "item", "written", "experiment")
MARKED_KINDS = ("exercise", "answer", "item", "written")


@dataclass(frozen=True)
class SourceCell:
    """One cell of a lab. kind: "prose" or one of KINDS; text: empty for an exercise.

    An item has become an answer; an answer without points is the student's and not marked.
    minutes: what an exercise takes, about; level: 1 easy, 2, 3 hard; both 0 if unknown.
    """

    kind: str
    name: str
    text: str
    points: float = 0.0
    target: Target | None = None
    minutes: int = 0
    level: int = 0

    @property
    def is_markdown(self) -> bool:
        return self.kind in ("prose", "written")


@dataclass(frozen=True)
class Lab:
    """A lab as its author wrote it. name: "04_kv_cache"; topic: "kv_cache"; number: 4."""

    name: str
    cells: tuple[SourceCell, ...]

    @property
    def topic(self) -> str:
        return self.name.partition("_")[2]

    @property
    def number(self) -> int:
        return int(self.name.partition("_")[0])

    @property
    def exercises(self) -> list[SourceCell]:
        return [cell for cell in self.cells if cell.kind == "exercise"]

    @property
    def marked(self) -> list[SourceCell]:
        """Cells that the grader marks by checks: exercises and answers."""
        return [cell for cell in self.cells if cell.kind in ("exercise", "answer") and cell.points]


@dataclass(frozen=True)
class Course:
    """The settings that all notebooks of the course share, from `notebooks/course.toml`.

    address: where releases lie, "" if nowhere; site: where `make site` is read, "" if nowhere;
    key: see `autograder.signing`, "" if there is none;
    revisions: by lab, how often it was released anew;
    own: labs that are not the kit's; papers: by place, the questions of lab 8 that change;
    ai: "none", "tutor" or "free", see `autograder.builder.ai`;
    reading: exercises whose cells show the answer, and earn nothing;
    page: rows for students; counts_as: points of the final mark by lab; policy: as it stands there.
    """

    title: str
    address: str = ""
    site: str = ""
    key: str = ""
    revisions: Mapping[str, int] = field(default_factory=dict)
    ai: str = "tutor"
    own: Sequence[str] = ()
    reading: Sequence[str] = ()
    papers: Mapping[str, str] = field(default_factory=dict)
    page: Mapping[str, str] = field(default_factory=dict)
    counts_as: Mapping[str, float] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ai not in [*RULES]:
            wanted = ", ".join(f'"{each}"' for each in RULES)
            raise ValueError(f"ai should be one of {wanted}, got {self.ai!r}")
        if self.site and not self.site.startswith(("https://", "http://")):
            raise ValueError(f"site should begin with https://, got {self.site!r}")

    def revision(self, lab: Lab) -> int:
        """1 for a lab that was never corrected."""
        return self.revisions.get(lab.name, 1)


def read_course() -> Course:
    """The course's settings. Raises: Refusal for a wrong one."""
    try:
        return Course(**tomllib.loads(places.COURSE.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise Refusal(
            f"notebooks/course.toml has a wrong setting ({error}): read the comments beside it"
        ) from None


def settings_files() -> dict[Path, bytes]:
    """The files that labs make of course.toml, which their students' labkit reads."""
    papers, files = read_course().papers, {}
    for path in lab_sources():
        if part := part_of(path.stem.partition("_")[2], "rotation"):
            files |= part.settings_files(papers)
    return files


def raise_revisions(revisions: dict[str, int]) -> None:
    """Write these revisions into course.toml, whose last part they are."""
    before = places.COURSE.read_text(encoding="utf-8").partition(_REVISIONS)[0]
    known = sorted({**read_course().revisions, **revisions}.items())
    lines = [f"{lab} = {revision}\n" for lab, revision in known]
    places.COURSE.write_text("".join([before, _REVISIONS, *lines]), encoding="utf-8")


@cache
def read_project() -> dict:
    """What pyproject.toml says of the project."""
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read_labs() -> tuple[Lab, ...]:
    """All labs that have a source, in order. Raises: Refusal if `reading` names no exercise."""
    labs = tuple(read_lab(path) for path in lab_sources())
    names = {cell.name for lab in labs for cell in lab.cells}
    if unknown := sorted(set(read_course().reading) - names):
        raise Refusal(f"notebooks/course.toml, reading: there is no exercise {unknown[0]!r}")
    return labs


def read_term() -> list[Lab]:
    """The labs that count or have a deadline in course.toml; all labs if it names none.

    Raises: Refusal if it names a lab that is not there.
    """
    course = read_course()
    named = [*course.counts_as, *course.policy.get("deadlines", {})]
    try:
        names = {assignment_of(name) for name in named}
    except ValueError as error:
        raise Refusal(f"notebooks/course.toml has a wrong setting ({error})") from None
    return [lab for lab in read_labs() if lab.name in names or not names]


def find_lab(name: str) -> Lab:
    """The lab called "04_kv_cache", "kv_cache" or "04". Raises ValueError naming the known ones.

    The notebook of questions about it, "04_oral", is a lab without cells.
    """
    if name.endswith(ORAL):
        return Lab(assignment_of(name), ())
    return read_lab(source_of(name))


def read_lab(path: Path) -> Lab:
    """Parse one source. Raises ValueError naming the cell that breaks a rule."""
    return _read_lab(path, read_course().ai == "free")


@cache
def _read_lab(path: Path, has_log: bool) -> Lab:
    found = cells_of(path.read_text(encoding="utf-8"))
    if has_log:
        found = [*found, *cells_of(WORK_LOG.read_text(encoding="utf-8"))]
    cells = tuple(_read_cell(path, i, cell) for i, cell in enumerate(found))
    names = [cell.name for cell in cells]
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise ValueError(f"{path.name}: two cells are called {', '.join(sorted(doubled))}")
    opening = replace(cells[0], text=with_points(cells[0].text, cells))
    return Lab(path.stem, (opening, *cells[1:]))


def targets_from(lab: Lab) -> Iterator[Target]:
    """The targets of the exercises of this lab and of later ones; only these are read."""
    for path in lab_sources():
        if path.stem >= lab.name:
            for cell in cells_of(path.read_text(encoding="utf-8")):
                if text := cell.keys.get("exercise"):
                    yield _target(text)


def _target(text: str) -> Target:
    return parse_target(text, module_source(text.partition(":")[0]))


def _read_cell(path: Path, index: int, cell: PercentCell) -> SourceCell:
    metadata, text = cell.keys, cell.text
    if cell.is_markdown:
        text = fill(text)
    kinds = [kind for kind in KINDS if kind in metadata]
    where = f"{path.name}, cell {index}"
    unknown = set(metadata) - {*KINDS, "points", "minutes", "level"}
    if unknown or len(kinds) > 1 or not (kinds or cell.is_markdown):
        raise ValueError(
            f"{where}: a code cell has exactly one of the keys {', '.join(KINDS)} (and points); "
            f"this one has {sorted(metadata) or 'none'}"
        )
    if not kinds:
        return SourceCell("prose", f"prose-{index:02d}", text)
    kind, points = kinds[0], float(metadata.get("points", 0))
    is_marked = "points" in metadata if kind == "answer" else points > 0
    if (kind in MARKED_KINDS) != is_marked:
        raise ValueError(
            f"{path.name}, cell {index}: {kind} cells and only marked ones have points"
        )
    if kind == "item":
        name = _checked_name(where, metadata[kind])
        key = part_of(path.stem.partition("_")[2], "key")
        if key is None:
            raise ValueError(f"{where}: the lab has items, and no key that answers them")
        return SourceCell("answer", name, key.solved_answer(name), points)
    if kind != "exercise":
        return SourceCell(kind, _checked_name(where, metadata[kind]), text, points)
    if text.strip():
        raise ValueError(
            f"{path.name}, cell {index}: an exercise's text comes from labkit, not here"
        )
    target = _target(metadata[kind])
    if target.name in read_course().reading:
        return SourceCell("given", target.name, plain_cell(module_source(target.module), target))
    minutes, level = (int(metadata.get(name, 0)) for name in ("minutes", "level"))
    return SourceCell(kind, target.name, "", points, target, minutes, level)


def _checked_name(where: str, name: object) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,50}", name):
        raise ValueError(f"{where}: {name!r} is not a name")
    return name


@cache
def module_source(module: str) -> str:
    """The text of a labkit module."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ValueError(f"there is no module {module}")
    return Path(spec.origin).read_text(encoding="utf-8")


@cache
def solved_text(cell: SourceCell) -> str:
    """The right answer of a marked cell, for the instructor's notebook."""
    if cell.kind == "answer":
        return cell.text
    return solved_cell(module_source(cell.target.module), cell.target)
