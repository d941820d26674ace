"""Digests of what marks depend on: a mark is made again when one of these has changed.

A lab's marks depend on the modules that judge it, with all that they import, and on the data that
these read. That covers the judge, the slot and the child with its wall, the bridge, the lab's
checks, hidden cases and key, its answers, and how the student's labkit is made. Student code gets
the whole labkit, but needs of it what the answers need. What only draws or reports (figures,
widgets, pages, exports) and what other labs have to themselves is imported by none of these.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

from autograder.builder.notebooks import plain_notebook, to_bytes
from autograder.builder.source import Lab
from autograder.judging.jobs import Limits
from autograder.places import REPOSITORY

JUDGING = ("autograder.judging.start.__main__", "autograder.judging.child.__main__",
           "autograder.builder.wheel")  # fmt: skip
PARTS = ("key",)
WALKED = ("labkit/labs/{topic}/checks/*.py", "autograder/labs/{topic}/cases/*.py")
PACKAGES = ("labkit", "autograder")
INSTALLED_FILES = ("labkit/**/*.py", "autograder/**/*.py", "autograder/labs/**/*.toml")
_IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) import (\([^)]*\)|.*)|import (.*))", re.MULTILINE)
_NAME, _COMMENT = re.compile(r"([\w.]+)(?: as \w+)?"), re.compile("#.*")
DATA_FILES = ("data/**/*.toml", "data/**/*.json*", "data/**/*.txt")


@cache
def installation_digest() -> str:
    """A digest of all code and data: machines that grade together have the same."""
    patterns = (*INSTALLED_FILES, *DATA_FILES)
    return _digest(path for pattern in patterns for path in REPOSITORY.glob(pattern))


@cache
def marking_digest(lab: Lab) -> str:
    """A digest of the code and the data that the marks of a lab depend on."""
    return _digest(marking_files(lab))


def marking_files(lab: Lab) -> set[Path]:
    """The files that the marks of a lab depend on: modules, and data that they name or that lie
    beside the lab's own.
    """
    answers = {cell.target.module for cell in lab.exercises}
    parts = [f"autograder.labs.{lab.topic}.{name}" for name in PARTS]
    walked = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for pattern in WALKED
        for path in REPOSITORY.glob(pattern.format(topic=lab.topic))
    ]
    modules = _imported((*JUDGING, *parts, *walked, *answers))
    naming = (ast.parse(code) for code in modules.values() if "data_path" in code)
    data = {path for tree in naming for path in _data_read(tree)}
    return modules.keys() | data | set(REPOSITORY.glob(f"autograder/labs/{lab.topic}/**/*.toml"))


def grading_digest(lab: Lab, seed: int, limits: Limits, *, walled: bool) -> bytes:
    """A digest of all that marks depend on besides the submission.

    Which rung of the wall is in use is not part of it; whether there is a wall is. Nor is the
    notebook's first cell, which the grader never runs: revisions of a lab differ in it.
    """
    parts = [lab.name, seed, walled, asdict(limits), marking_digest(lab)]
    digest = hashlib.sha256(json.dumps(parts).encode())
    digest.update(_notebook(lab))
    return digest.digest()


@cache
def _notebook(lab: Lab) -> bytes:
    return to_bytes(plain_notebook(lab, "student", "any first cell"))


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(REPOSITORY)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _imported(roots: Iterable[str]) -> dict[Path, str]:
    """The files of these modules and of all of ours that they import, anywhere in their code."""
    found: dict[Path, str] = {}
    names, todo = set(), list(roots)
    while todo:
        name = todo.pop()
        if not name or name in names or name.partition(".")[0] not in PACKAGES:
            continue
        names.add(name)
        todo.append(name.rpartition(".")[0])
        if (path := _file_of(name)) is not None:
            found[path] = path.read_text(encoding="utf-8")
            todo += may_import(found[path])
    return found


def may_import(code: str) -> Iterator[str]:
    """What code may import, read line by line: to parse it takes ten times as long."""
    for module, some, others in _IMPORT.findall(code):
        if module:
            yield module
        for name in _NAME.findall(_COMMENT.sub("", some or others)):
            yield f"{module}.{name}" if module else name


def _data_read(tree: ast.Module) -> Iterator[Path]:
    """The files that `data_path("name")` in a module stands for; for others, all data."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("data_path") | ast.Attribute(attr="data_path"), args=args):
                patterns = DATA_FILES
            case _:
                continue
        match args:
            case [ast.Constant(str(name))]:
                patterns = (f"data/{name}", f"data/{name}/**/*")
        yield from (file for each in patterns for file in REPOSITORY.glob(each) if file.is_file())


def _file_of(module: str) -> Path | None:
    path = REPOSITORY / module.replace(".", "/")
    files = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)
