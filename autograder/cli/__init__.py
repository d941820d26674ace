"""The command line: parses and calls, nothing else."""

from __future__ import annotations

import gc
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from autograder.cli import course, desk, grading, records

ONLY_UNIX = ("fcntl", "resource")
PIPE_CLOSED = (
    "autograder: the program that read this output has ended, as head does after ten lines. What "
    "was done until then is kept: give the command again without it, or write to a file (> FILE)"
)


class Commands(TyperGroup):
    """The commands; if the reader of their output is gone, they print one sentence."""

    def make_context(self, *args: Any, **options: Any) -> typer.Context:
        """Read the command line; `--version` and `--help` print already here."""
        with _report_closed_pipe():
            return super().make_context(*args, **options)

    def invoke(self, ctx: typer.Context) -> Any:
        """Run the command."""
        with _report_closed_pipe():
            return super().invoke(ctx)


@contextmanager
def _report_closed_pipe() -> Iterator[None]:
    """Report a closed pipe on stderr, because typer would end the command silently."""
    try:
        yield
    except BrokenPipeError:
        with suppress(OSError):
            typer.echo(PIPE_CLOSED, err=True)
        raise


app = typer.Typer(
    cls=Commands,
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
