"""The command line: parses and calls, nothing else."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from autograder.builder.source import Lab, find_lab

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Build the labs, grade submissions outside the student's process, report.",
)

LabName = Annotated[str, typer.Argument(help="a lab: 04_kv_cache, kv_cache or 04")]


@app.command()
def build(
    check: Annotated[bool, typer.Option("--check", help="only compare, write nothing")] = False,
    out: Annotated[Path, typer.Option("-o", help="instructor notebooks and wheels")] = Path(
        "build"
    ),
) -> None:
    """Build student and instructor notebooks and the student's labkit."""
    from autograder.builder.course import build_course, stale_notebooks

    if not check:
        for path in build_course(out):
            typer.echo(path)
        return
    stale = stale_notebooks()
    for path in stale:
        typer.echo(f"{path.name} is not what its source builds: run `autograder build`", err=True)
    if stale:
        raise typer.Exit(1)


@app.command()
def release(
    lab: LabName,
    out: Annotated[Path, typer.Option("-o", help="where the zip goes")] = Path("build/release"),
    explained: Annotated[
        bool, typer.Option("--explained", help="after the deadline: with lab 8's reasons")
    ] = False,
) -> None:
    """Pack what students of a lab get, as one zip."""
    from autograder.builder.course import release_lab

    typer.echo(release_lab(_lab(lab), out, explained=explained))


@app.command()
def grade(
    lab: LabName,
    submissions: Annotated[Path, typer.Argument(help="a folder or a zip of submissions")],
    out: Annotated[Path, typer.Option("-o", help="results, pages and gradebook go here")],
    jobs: Annotated[int, typer.Option(min=1, help="how many to grade side by side")] = 1,
    seed: Annotated[int | None, typer.Option(help="seed of the hidden cases")] = None,
    sandbox: Annotated[
        bool, typer.Option("--sandbox/--no-sandbox", help="only turn off for people you trust")
    ] = True,
) -> None:
    """Grade a lab; run again to go on or to grade what changed. Marks are in OUT/marks.csv."""
    from autograder.collect import NoSubmissions
    from autograder.grade import Run
    from autograder.grade import grade as grade_lab
    from autograder.gradebook import GradebookError
    from autograder.results import ERROR, BusyError
    from autograder.wall import NoWall

    try:
        run = Run(jobs=jobs, seed=seed, sandbox=sandbox)
        results = grade_lab(_lab(lab), submissions, out, run)
    except (NoSubmissions, NoWall, BusyError, GradebookError) as error:
        _refuse(error)
    counts = Counter(result.status for result in results)
    summary = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    typer.echo(f"{len(results)} submissions: {summary}. Marks: {out / 'marks.csv'}")
    if counts[ERROR]:
        raise typer.Exit(1)


@app.command()
def report(out: Annotated[Path, typer.Argument(help="the output folder of a grading")]) -> None:
    """Write the class report and the table of marks again, from the results alone."""
    from autograder.report import write_feedback, write_marks, write_report
    from autograder.results import read_results

    results = read_results(out / "results.jsonl")
    if not results:
        _refuse(f"{out / 'results.jsonl'} holds no results: grade first")
    for result in results:
        write_feedback(out, result)
    typer.echo(write_marks(out, results))
    typer.echo(write_report(out, results))


def _lab(name: str) -> Lab:
    try:
        return find_lab(name)
    except ValueError as error:
        _refuse(error)


def _refuse(reason: object) -> NoReturn:
    """One clear sentence, exit status 2."""
    typer.echo(f"autograder: {reason}", err=True)
    raise typer.Exit(2)


def main() -> None:
    """Entry point."""
    app()
