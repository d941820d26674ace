"""Each row of tests/coverage.toml has a place that exists, or says what is missing."""

import ast
import tomllib

import pytest

from autograder.builder.source import read_labs
from autograder.places import REPOSITORY
from tests.commands.documented import documented

GROUPS = tomllib.loads((REPOSITORY / "tests/coverage.toml").read_text(encoding="utf-8")).values()
ROWS = {name: row for group in GROUPS for name, row in group.items()}
IDS = "F14 T07 M09 P11 K21 B18 S38 A09 V06 Q23 G06 N24"  # F14: the rows F01 to F14
CELLS = {f"{lab.number:02} {cell.name}" for lab in read_labs() for cell in lab.cells}
RECORD = 'data/results/{}.jsonl: "experiment": "{}"'
COMMANDS = [f"{each.text.removeprefix('.venv/bin/')} " for each in documented()]


def has_file(place):
    path, _, words = place.partition(": ")
    path = REPOSITORY / path
    return words in path.read_text(encoding="utf-8") if path.is_file() else path.is_dir()


def has_test(place):
    path, _, name = place.partition("::")
    tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8") if has_file(path) else "")
    names = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    return name in names if name else any(each.startswith("test_") for each in names)


HAS = {
    "cell": CELLS.__contains__,
    "record": lambda place: has_file(RECORD.format(*place.split())),
    "file": has_file,
    "command": lambda place: any(each.startswith(f"{place} ") for each in COMMANDS),
    "test": has_test,
}


def gone(row):
    """The places of a row that do not exist."""
    kinds = {kind: value for kind, value in row.items() if kind not in ("what", "missing")}
    places = [(kind, [at] if isinstance(at, str) else at) for kind, at in kinds.items()]
    return [each for kind, several in places for each in several if not HAS[kind](each)]


def test_each_row_has_places_that_exist_or_says_what_is_missing():
    assert {f"{s[0]}{n:02}" for s in IDS.split() for n in range(1, int(s[1:]) + 1)} <= ROWS.keys()
    assert all(len(row) > 1 and len(row["what"].split()) <= 10 for row in ROWS.values())
    lost = {name: places for name, row in ROWS.items() if (places := gone(row))}
    assert lost == {}, "write the new places of these rows into tests/coverage.toml"


@pytest.mark.parametrize("kind", HAS)
def test_a_place_that_is_gone_is_found(kind):
    place = next(row[kind] for row in ROWS.values() if isinstance(row.get(kind), str))
    assert gone({kind: [place, f"{place}_gone"]}) == [f"{place}_gone"]
