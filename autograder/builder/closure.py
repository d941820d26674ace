"""The modules in the wheel of a lab: those of labkit that its notebook and its checks reach."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from autograder.builder.source import Lab, solved_text
from autograder.errors import Refusal
from autograder.imports import file_of, needed_by_file, needed_modules, offered_by
from autograder.places import REPOSITORY

CHILD = REPOSITORY / "autograder/judging/child"
MODULE = re.compile(r"\blabkit(?:\.\w+)+")
# What the child imports when these checks ask for it; what is known of this machine, where a
# notebook measures with a profile; and kernels for the newest GPUs, which the engine's registry can
# do without: who is measured with them.
ASKED_FOR_BY = {
    "labkit.chance.source": "labkit.checks.law",
    "labkit.bridge.in_triton": "labkit.labs.flash_attention.checks.triton_kernel",
    "labkit.measuring.machine.here": "labkit.measuring.profiles",
    "labkit.engine.triton_accept": "labkit.labs.speculative.experiments",
    "labkit.engine.triton_attention": "labkit.labs.speculative.experiments",
    "labkit.engine.triton_linear": "labkit.engine.serving.decoder",
}
# These name modules that need not be there.
OFFERS = ("labkit.bridge.", "labkit.engine.registry", "labkit.measuring.provenance")


@cache
def reached_modules(lab: Lab) -> dict[str, str]:
    """By name, the modules that a lab's students need, each with what needs it first.

    All names of the lab's own folder are among them, for students look through these. Raises:
    Refusal with the chain of imports that ends at a module which is not there, and for a hidden
    case that needs a module which the student's labkit does not hold.
    """
    reached: dict[str, str] = {}
    waiting: dict[str, str] = {}
    todo = [(name, f"the notebook {lab.name}") for name in _in_notebook(lab)]
    todo += [(name, f"the check folder of {lab.name}") for name in _own_modules(lab)]
    todo += [(name, "the grader's child process") for name in _in_child()]
    todo.append(("labkit.checks.replay", "a cell of `autograder case`"))
    while todo:
        name, needed_by = todo.pop(0)
        if name in reached or not _is_ours(name):
            continue
        is_lazy = name in ASKED_FOR_BY and needed_by.startswith(OFFERS)
        if is_lazy and ASKED_FOR_BY[name] not in reached:
            waiting[name] = needed_by
            continue
        reached[name] = needed_by
        todo += [(each, waiting[each]) for each in waiting if ASKED_FOR_BY[each] == name]
        if not (path := file_of(name)):
            raise Refusal(f"{name} is missing: {_chain(name, reached)}")
        todo += [(each, name) for each in (*needed_by_file(path), *_packages_of(name))]
    _refuse_hidden_needs(lab, reached)
    return reached


def _in_notebook(lab: Lab) -> Iterator[str]:
    """The modules that the solved cells need (stubs need no more), and those named in texts."""
    code = [solved_text(cell) if cell.kind == "exercise" else cell.text for cell in lab.cells]
    yield from needed_modules(*code)
    for cell in lab.cells:
        yield from (name for name in MODULE.findall(cell.text) if file_of(name))


def _own_modules(lab: Lab) -> Iterator[str]:
    """The modules of the lab's checks, and of the names that the lab's folder offers."""
    yield from offered_by(f"labkit.labs.{lab.topic}").values()
    folder = REPOSITORY / f"labkit/labs/{lab.topic}/checks"
    yield from sorted(_name_of(path) for path in folder.rglob("*.py"))


@cache
def _in_child() -> tuple[str, ...]:
    """The modules that the child process needs to run student code."""
    return tuple(name for path in sorted(CHILD.glob("*.py")) for name in needed_by_file(path))


def _refuse_hidden_needs(lab: Lab, reached: dict[str, str]) -> None:
    for path in sorted((REPOSITORY / f"autograder/labs/{lab.topic}/cases").glob("*.py")):
        for name in needed_by_file(path):
            if _is_ours(name) and name not in reached:
                raise Refusal(
                    f"{path.relative_to(REPOSITORY)} imports {name}, which the labkit of "
                    f"{lab.name} does not hold: import it in a check of the lab, too"
                )


def _chain(name: str, reached: dict[str, str]) -> str:
    """Who needs a module, from the notebook on."""
    steps = [name]
    while steps[-1] in reached:
        steps.append(reached[steps[-1]])
    first, *others = reversed(steps)
    return f"{first} imports {', which imports '.join(others)}"


def _packages_of(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts))]


def _name_of(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] == "labkit"
