"""The command line: parses and calls, nothing else."""

from __future__ import annotations

import gc
import platform
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from autograder.cli import course, desk, grading, records

ONLY_UNIX = ("fcntl", "resource")
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Build the labs, grade submissions outside the student's process, write reports.",
)
for part in (course, grading, records, desk):
    app.add_typer(part.commands)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"autograder {version('labkit')}, Python {platform.python_version()}")
        raise typer.Exit


@app.callback()
def common(
    is_asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="show the version and stop"
        ),
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """Entry point."""
    gc.set_threshold(100_000, 50, 100)  # else a third of a short grading goes into collecting
    try:
        app()
    except ModuleNotFoundError as missing:
        if missing.name not in ONLY_UNIX:
            raise
        sys.exit(
            "autograder: this command runs students' code, which needs Linux: use WSL2 or a "
            "container (docs/platforms.md). Reading, marking and exporting work here."
        )
