"""Commands that make a course: new labs, notebooks, releases, classes to practise on."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.shared import LabName, named_lab, refusals, refuse

commands = typer.Typer()
new = typer.Typer(no_args_is_help=True, help="Write the skeleton of a lab or of an exercise.")
commands.add_typer(new, name="new")


@new.command("lab")
def new_lab(
    name: Annotated[str, typer.Argument(help="two digits and a topic: 09_quantization")],
) -> None:
    """Write a lab with one exercise: source, answer, check, cases, a wrong and a right answer."""
    from autograder.builder import new as skeletons

    with refusals():
        _print_new_files(skeletons.new_lab(name), name)


@new.command("exercise")
def new_exercise(
    lab: LabName,
    name: Annotated[str, typer.Argument(help="a function, or a class with a capital")],
) -> None:
    """Write an exercise into a lab, with its answer, check, cases, a wrong and a right answer."""
    from autograder.builder import new as skeletons

    with refusals():
        _print_new_files(skeletons.new_exercise(lab, name), lab)


def _print_new_files(paths: list[Path], lab: str) -> None:
    for path in paths:
        typer.echo(path)
    typer.echo(
        "The new cells stand at the end of the source: move them to their place.\n"
        "Run `autograder build` to make the notebook. Then `make test "
        f"LAB={lab.partition('_')[0]}` passes.\n"
        "Next write the answer and its docstring, then the check, the cases and the wrong answers."
    )


@commands.command()
def build(
    check: Annotated[bool, typer.Option("--check", help="only compare, write nothing")] = False,
    out: Annotated[Path, typer.Option("-o", help="instructor notebooks and wheels")] = Path(
        "build"
    ),
) -> None:
    """Build the notebooks and the student's labkit. Refuse a lab whose solution loses points."""
    from autograder.builder.course import build_course, stale_files
    from autograder.builder.source import read_labs
    from autograder.proof.complete import missing_parts
    from autograder.proof.reference import refuse_lost_points

    if not check:
        with refusals():
            for path in build_course(out):
                typer.echo(path)
            for lab in read_labs():
                refuse_lost_points(lab)
        return
    with refusals():
        stale = stale_files()
    problems = [
        f"{path.name} differs from what the sources build: run `autograder build`" for path in stale
    ]
    for lab in read_labs():
        problems += missing_parts(lab)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)


@commands.command("check")
def check_lab(lab: LabName) -> None:
    """Play a lab's own solution: on open and hidden cases, then its notebook from top to bottom."""
    from autograder.proof.reference import lost_points, stopped_cell

    found = named_lab(lab)
    problems = list(lost_points(found)) or list(stopped_cell(found))
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{found.name}: the solution earns every point, and each cell of its notebook runs.")


ADDRESS = re.compile(r"(https|file)://.+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/.*)?")


@commands.command()
def release(
    lab: Annotated[str, typer.Argument(help="a lab: 04_kv_cache, kv_cache or 04")] = "",
    out: Annotated[Path, typer.Option("-o", help="where the zip goes")] = Path("build/release"),
    everything: Annotated[bool, typer.Option("--all", help="all labs of the term")] = False,
    to: Annotated[Path | None, typer.Option(help="write or update a site in this folder")] = None,
    url: Annotated[
        str | None, typer.Option(help="address of the site; if not given, that of course.toml")
    ] = None,
    revise: Annotated[
        bool,
        typer.Option("--revise", help="with --to: raise the revision of each lab that changed"),
    ] = False,
    explained: Annotated[
        bool,
        typer.Option("--explained", help="with the explanations of lab 8, for after the deadline"),
    ] = False,
    draft: Annotated[
        bool, typer.Option("--draft", help="pack it although the course page has empty fields")
    ] = False,
) -> None:
    """Pack a lab for students: as a zip, or as a web site."""
    from autograder.builder.course import release_lab
    from autograder.builder.course_page import unfilled_fields
    from autograder.builder.site import write_site
    from autograder.builder.source import read_course, read_term
    from autograder.course.early import answers_too_early
    from autograder.course.policy import read_policy
    from autograder.places import COURSE
    from autograder.proof.reference import refuse_lost_points

    course = read_course()
    address = (course.address if url is None else url).rstrip("/")
    if address and not ADDRESS.fullmatch(address):
        what = "can be changed on its way" if address.startswith("http://") else "is no address"
        refuse(f"--url {address} {what}: write https://... or file:///...")
    if everything == bool(lab):
        refuse("name one lab, or give --all")
    if revise and to is None:
        refuse("--revise compares with a site: give its folder with --to")
    if (unfilled := unfilled_fields(course)) and not draft:
        fields = "".join(f"  {field}\n" for field in unfilled)
        refuse(
            "students would read fields of notebooks/course.toml that are not filled in:\n"
            f"{fields}Fill them in and run `autograder build`. --draft packs the files as they are."
        )
    with refusals():
        if unfilled:
            typer.echo(f"Warning: a draft: {len(unfilled)} fields are not filled in", err=True)
        labs = read_term() if everything else [named_lab(lab)]
        names, policy = [each.name for each in labs], read_policy(COURSE)
        for warning in answers_too_early(names, policy, datetime.now(UTC)):
            typer.echo(f"Warning: {warning}", err=True)
        for each in labs:
            refuse_lost_points(each)
        if (address or to or revise) and not course.key:
            typer.echo(
                "Warning: these notebooks will take no correction, for the course has no key: "
                "run `autograder key` first",
                err=True,
            )
        if to is not None:
            paths = write_site(to, labs, address, revise=revise, explained=explained)
        else:
            paths = [release_lab(each, out, address, explained=explained) for each in labs]
        for path in paths:
            typer.echo(path)


@commands.command()
def key() -> None:
    """Make the key that signs corrections of released labs; students' notebooks trust it alone."""
    from autograder.signing import make_key

    with refusals():
        typer.echo(f"{make_key()} signs what students' notebooks install. Publish it nowhere, and")
        typer.echo("give a copy to each person who releases labs. Then run `autograder build`.")


@commands.command()
def practice(
    lab: LabName,
    out: Annotated[Path, typer.Option("-o", help="where the files go")] = Path("practice"),
    oral: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="answer the notebooks of questions that OUT made"),
    ] = None,
) -> None:
    """Write made-up submissions to practise with, and their gradebook and policy."""
    from autograder.practice.classes import write_practice_class
    from autograder.practice.letters import write_practice_letters

    with refusals():
        found = named_lab(lab)
        written = write_practice_class(found, out) if oral is None else [
            write_practice_letters(found, oral, out)
        ]  # fmt: skip
        for path in written:
            typer.echo(path)
