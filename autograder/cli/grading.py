"""Commands that run students' code: grade, regrade, and keys for a cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from autograder.builder.source import Lab, find_lab
from autograder.cli.shared import Jobs, LabName, Sandbox, named_lab, refusals, refuse
from autograder.places import ORAL

commands = typer.Typer()


@commands.command()
def grade(
    lab: LabName,
    submissions: Annotated[Path, typer.Argument(help="a folder or a zip of submissions")],
    out: Annotated[Path, typer.Option("-o", help="results, pages and gradebook go here")],
    jobs: Jobs = None,
    policy: Annotated[
        Path | None, typer.Option(help="deadlines, late work, attempts: notebooks/course.toml")
    ] = None,
    roster: Annotated[
        Path | None, typer.Option(help="the class as a table, for names and groups")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="seed of the hidden cases")] = None,
    shard: Annotated[
        str,
        typer.Option(metavar="I/N", help="grade part I of N; after all parts, grade once without"),
    ] = "",
    cluster: Annotated[str, typer.Option(metavar="ADDRESS", help="a Dask scheduler: tls://…")] = "",
    cluster_keys: Annotated[
        Path | None, typer.Option(help="folder that `cluster-keys` made")
    ] = None,
    sandbox: Sandbox = True,
) -> None:
    """Grade a lab. Run again to continue, or to grade changed files. Marks: OUT/marks.csv."""
    from autograder.judging.start.template import shared_template

    if not (cluster or (out / "results.jsonl").exists()):
        shared_template()  # all are due: the template imports while this process does
    from autograder.grading.grade import GradingSettings, grade_shard
    from autograder.grading.grade import grade as grade_lab
    from autograder.grading.messages import counts, no_times, places
    from autograder.grading.pool import usual_jobs
    from autograder.grading.spool import shard_of
    from autograder.oral.marking import mark_notebooks
    from autograder.proof.reference import refuse_lost_points
    from autograder.record.results import ERROR

    on = {"cluster": cluster, "cluster_keys": cluster_keys}
    run = GradingSettings(jobs or usual_jobs(), seed, policy, sandbox, roster=roster, **on)
    found = _lab_to_grade(lab, out)
    with refusals():
        check_lab = partial(refuse_lost_points, found)
        if found.name.endswith(ORAL):
            if shard or cluster:
                refuse("letters are marked in a moment: leave out --shard and --cluster")
            results = mark_notebooks(found, submissions, out, run)
            lines = [f"Marks: {out / 'marks.csv'}", *places(out, results), *no_times(results)]
        elif shard:
            check_lab()
            results = grade_shard(found, submissions, out, run, shard_of(shard))
            lines = ["Grade once more without --shard when all shards are done"]
        else:
            results = grade_lab(found, submissions, out, run, check_lab)
            lines = [f"Marks: {out / 'marks.csv'}", *places(out, results), *no_times(results)]
            _report_strangers(out, found.name, [result.student for result in results])
    typer.echo("\n".join([f"{counts(results)} {lines[0]}", *lines[1:]]))
    if any(result.status == ERROR for result in results):
        raise typer.Exit(1)


def _lab_to_grade(name: str, out: Path) -> Lab:
    """The lab of this name, or a refusal that says what grades an assignment that is no lab."""
    try:
        return find_lab(name)
    except ValueError as error:
        refuse(
            f"{error}. nbgrader itself grades every assignment that is no lab: run `nbgrader "
            f"autograde {name}` in {out / 'course'}"
        )


@commands.command()
def regrade(
    lab: LabName,
    submissions: Annotated[Path, typer.Argument(help="a folder or a zip of submissions")],
    out: Annotated[Path, typer.Option("-o", help="the output folder of the grading")],
    exercise: Annotated[str, typer.Option(help="the exercise to judge again")],
    write: Annotated[bool, typer.Option("--write", help="write the changes, too")] = False,
    jobs: Jobs = None,
    sandbox: Sandbox = True,
) -> None:
    """Judge one exercise again after its check was corrected. Show whose marks change."""
    from autograder.grading.grade import GradingSettings
    from autograder.grading.pool import usual_jobs
    from autograder.grading.regrade import plan_regrade

    run = GradingSettings(jobs or usual_jobs(), sandbox=sandbox)
    with refusals():
        plan = plan_regrade(named_lab(lab), submissions, out, exercise, run)
        for line in plan.lines():
            typer.echo(line)
        if write:
            plan.write()
    typer.echo("Written." if write else "Nothing is written; --write does it.")


@commands.command()
def oral(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    lab: Annotated[list[str], typer.Argument(help="one lab: 04_kv_cache, kv_cache or 04")],
    notebooks: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="write notebooks to hand out there, and no sheets"),
    ] = None,
    jobs: Jobs = None,
    sandbox: Sandbox = True,
) -> None:
    """Write questions for each student about their own passing code, and the keys for a TA."""
    from autograder.grading.pool import usual_jobs
    from autograder.oral.notebooks import write_notebooks
    from autograder.oral.write import write_oral
    from autograder.record.log import read_results

    if len(lab) > 1:
        refuse(f"a sheet is about one lab, and these are {len(lab)}: give the command for each")
    found = named_lab(lab[0])
    with refusals():
        results = [each for each in read_results(out / "results.jsonl") if each.lab == found.name]
        if not results:
            refuse(f"{out / 'results.jsonl'} holds no results of {found.name}: grade it first")
        if notebooks is None:
            typer.echo(write_oral(out, found, results, jobs or usual_jobs(), sandbox))
            return
        lines = write_notebooks(out, found, results, notebooks, jobs or usual_jobs(), sandbox)
        typer.echo("\n".join([str(notebooks), *lines]))


@commands.command("cluster-keys")
def cluster_keys(
    folder: Annotated[Path, typer.Argument(help="a new folder that only you can read")],
) -> None:
    """Make the keys that the machines of a cluster share."""
    from autograder.grading.cluster.keys import write_keys

    with refusals():
        typer.echo(write_keys(folder))


def _report_strangers(out: Path, lab: str, students: list[str]) -> None:
    from autograder.record.folder import policy_of

    for name in policy_of(out).strangers(lab, students):
        typer.echo(f"{name} has an extension, but no submission has that name", err=True)
