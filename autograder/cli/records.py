"""Commands on what a grading has recorded: pages, cases, evidence, exports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autograder.cli.shared import LabName, graded_lab, named_lab, refusals, refuse

if TYPE_CHECKING:
    from autograder.record.results import Result

commands = typer.Typer()


@commands.command()
def report(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    with_cases: Annotated[
        bool,
        typer.Option(help="feedback shows hidden cases, too; use it after the last attempt"),
    ] = False,
) -> None:
    """Write pages and marks again, with the marks given by hand."""
    from autograder.pages.report import write_pages
    from autograder.record.log import read_results
    from autograder.record.marks import marks_of, write_marks

    with refusals():
        results = read_results(out / "results.jsonl")
        if not results:
            refuse(f"{out / 'results.jsonl'} holds no results: grade first")
        marks = marks_of(out, results)
        typer.echo(write_marks(out, results, marks))
        typer.echo(write_pages(out, results, marks, with_cases=with_cases))


@commands.command()
def case(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    lab: LabName,
    exercise: Annotated[str, typer.Argument(help="an exercise, as the notebook calls it")],
    check: Annotated[str, typer.Argument(help="one check; all of the exercise if not given")] = "",
    student: Annotated[str, typer.Option(help="show what this student fails")] = "",
) -> None:
    """Print hidden cases as notebook cells: the input, what was expected, and what came back."""
    from autograder.pages.cases import case_cells

    with refusals():
        results = _results_of(out, named_lab(lab).name)
        cells = case_cells(results, exercise, check, student)
    typer.echo("\n\n\n".join(cells))


@commands.command()
def similar(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")], lab: LabName
) -> None:
    """Write the page of answers that are alike. It is evidence for the staff only."""
    from autograder.pages.evidence.similarity import write_similarity

    with refusals():
        name = named_lab(lab).name
        typer.echo(write_similarity(out, name, _results_of(out, name)))


@commands.command()
def integrity(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    lab: LabName,
) -> None:
    """Write the page of flags again. It is evidence for the staff only."""
    from autograder.pages.evidence.integrity import write_integrity

    with refusals():
        name = named_lab(lab).name
        typer.echo(write_integrity(out, name, _results_of(out, name)))


@commands.command()
def forget(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    student: Annotated[str, typer.Argument(help="the name, as in marks.csv")],
) -> None:
    """Delete all that a folder holds about one student."""
    from autograder.record.forget import forget as deleted

    with refusals():
        naming = deleted(out, student)
    typer.echo(f"{student}: results, files, marks and the history of marking are deleted.")
    for path in naming:
        typer.echo(f"{path} still has the name {student}.")
    if naming:
        typer.echo(
            f"`autograder report {out}` writes marks and pages again. Edit other files yourself."
        )


@commands.command()
def export(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    path: Annotated[Path, typer.Option("-o", help="the file to write")],
    form: Annotated[
        str, typer.Option("--format", help="csv, canvas, moodle or gradescope")
    ] = "csv",
    roster: Annotated[
        Path | None, typer.Option(help="the platform's own export, or a list of people")
    ] = None,
    labs: Annotated[
        list[str] | None, typer.Option(help="a lab; repeat it for more; all labs if not given")
    ] = None,
    points: Annotated[
        list[str] | None, typer.Option(metavar="LAB=N", help="convert to N points")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="LAB=NAME", help="the lab's name on the platform")
    ] = None,
) -> None:
    """Write the marks for a platform, and name missing ones."""
    from autograder.course.roster import read_roster
    from autograder.exports import ExportOrder, points_of
    from autograder.exports import export as export_marks

    with refusals():
        order = ExportOrder(
            form,
            [graded_lab(name).name for name in labs or []],
            points_of(_by_lab("--points", points)),
            _by_lab("--column", column),
        )
        notes = export_marks(out, order, path, read_roster(roster) if roster else None)
    for note in notes:
        typer.echo(note)
    typer.echo(path)


def _by_lab(option: str, given: list[str] | None) -> dict[str, str]:
    """The values of an option LAB=VALUE, by lab."""
    pairs = [text.partition("=") for text in given or []]
    for lab, _, value in pairs:
        if not value:
            refuse(f"{option} needs LAB=VALUE, got {lab}")
    return {graded_lab(lab).name: value for lab, _, value in pairs}


def _results_of(out: Path, lab: str) -> list[Result]:
    """A lab's results; refused if there are none."""
    from autograder.record.log import read_results

    results = [result for result in read_results(out / "results.jsonl") if result.lab == lab]
    if not results:
        refuse(f"{out / 'results.jsonl'} holds no results of {lab}: grade it first")
    return results
