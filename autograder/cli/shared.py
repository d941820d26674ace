"""What all commands share: the name of a lab, and the report of a problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

from autograder.builder.source import Lab, find_lab
from autograder.errors import Refusal
from autograder.places import ORAL

LabName = Annotated[str, typer.Argument(help="a lab: 04_kv_cache, kv_cache or 04")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1, help="how many submissions to grade at the same time; usually one per processor"
    ),
]

Sandbox = Annotated[
    bool,
    typer.Option("--sandbox/--no-sandbox", help="turn off only if you trust every submission"),
]


@contextmanager
def refusals() -> Iterator[None]:
    """Report in one sentence a problem that a person can solve."""
    try:
        yield
    except Refusal as error:
        refuse(error)
    except BrokenPipeError:
        raise  # it is no file's fault: see Commands
    except OSError as error:
        refuse(
            f"{error.filename or 'a file'}: {error.strerror or error}; the record is kept: "
            "correct this and give the command again"
        )


def named_lab(name: str) -> Lab:
    """The lab of a name, a topic or a number; refused if there is none."""
    lab = graded_lab(name)
    if lab.name.endswith(ORAL):
        refuse(f"{lab.name} holds questions about {lab.name.removesuffix(ORAL)}: name that lab")
    return lab


def graded_lab(name: str) -> Lab:
    """As `named_lab`, or the notebook of questions about a lab: "04_oral"."""
    try:
        return find_lab(name)
    except ValueError as error:
        refuse(error)


def refuse(reason: object) -> NoReturn:
    """One clear sentence, exit status 2."""
    typer.echo(f"autograder: {reason}", err=True)
    raise typer.Exit(2)
