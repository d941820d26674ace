"""The command line: parses and calls, nothing else."""

from __future__ import annotations

import gc
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from autograder.builder.source import Lab, find_lab
from autograder.errors import Refusal

if TYPE_CHECKING:
    from autograder.grading.grade import Run
    from autograder.record.results import Result

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Build the labs, grade submissions outside the student's process, write reports.",
)


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


ONLY_UNIX = ("fcntl", "resource")
LabName = Annotated[str, typer.Argument(help="a lab: 04_kv_cache, kv_cache or 04")]


new = typer.Typer(no_args_is_help=True, help="Write the skeleton of a lab or of an exercise.")
app.add_typer(new, name="new")


@new.command("lab")
def new_lab(
    name: Annotated[str, typer.Argument(help="two digits and a topic: 09_quantization")],
) -> None:
    """Write a lab with one exercise: source, answer, check, cases, a wrong and a right answer."""
    from autograder.builder import new as skeletons

    with _refusals():
        _tell_new(skeletons.new_lab(name), name)


@new.command("exercise")
def new_exercise(
    lab: LabName,
    name: Annotated[str, typer.Argument(help="a function, or a class with a capital")],
) -> None:
    """Write an exercise into a lab, with its answer, check, cases, a wrong and a right answer."""
    from autograder.builder import new as skeletons

    with _refusals():
        _tell_new(skeletons.new_exercise(lab, name), lab)


def _tell_new(paths: list[Path], lab: str) -> None:
    for path in paths:
        typer.echo(path)
    typer.echo(
        "Run `autograder build` to make the notebook. Then `make test "
        f"LAB={lab.partition('_')[0]}` passes.\n"
        "Next write the answer and its docstring, then the check, the cases and the wrong answers."
    )


@app.command()
def build(
    check: Annotated[bool, typer.Option("--check", help="only compare, write nothing")] = False,
    out: Annotated[Path, typer.Option("-o", help="instructor notebooks and wheels")] = Path(
        "build"
    ),
) -> None:
    """Build the notebooks and the student's labkit. Refuse a lab whose solution loses points."""
    from autograder.builder.course import build_course, stale_files
    from autograder.builder.source import read_course, read_labs
    from autograder.labs.complete import missing_parts, unproven_parts
    from autograder.proof.reference import refuse_lost_points

    if not check:
        with _refusals():
            for path in build_course(out):
                typer.echo(path)
            for lab in read_labs():
                refuse_lost_points(lab)
        return
    with _refusals():
        stale = stale_files()
    problems = [
        f"{path.name} differs from what the sources build: run `autograder build`" for path in stale
    ]
    own = read_course().own
    for lab in read_labs():
        missing = list(missing_parts(lab))
        unproven = [] if missing else list(unproven_parts(lab))
        problems += missing
        if lab.name not in own:
            problems += unproven
            continue
        for sentence in unproven:
            typer.echo(f"Warning: {sentence}", err=True)
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)


@app.command("check")
def check_lab(lab: LabName) -> None:
    """Play a lab's own solution: on open and hidden cases, then its notebook from top to bottom."""
    from autograder.proof.reference import lost_points, stopped_cell

    found = _lab(lab)
    problems = list(lost_points(found)) or list(stopped_cell(found))
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{found.name}: the solution earns every point, and each cell of its notebook runs.")


@app.command()
def release(
    lab: Annotated[str, typer.Argument(help="a lab: 04_kv_cache, kv_cache or 04")] = "",
    out: Annotated[Path, typer.Option("-o", help="where the zip goes")] = Path("build/release"),
    everything: Annotated[bool, typer.Option("--all", help="all labs instead of one")] = False,
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
) -> None:
    """Pack a lab for students: as a zip, or as a web site."""
    from autograder.builder.course import release_lab
    from autograder.builder.site import write_site
    from autograder.builder.source import read_course, read_labs
    from autograder.proof.reference import refuse_lost_points

    address = (read_course().address if url is None else url).rstrip("/")
    if address and "://" not in address:
        _refuse(f"--url {address} is no address: write https://... or file:///...")
    if everything == bool(lab):
        _refuse("name one lab, or give --all")
    if revise and to is None:
        _refuse("--revise compares with a site: give its folder with --to")
    with _refusals():
        labs = read_labs() if everything else [_lab(lab)]
        for each in labs:
            refuse_lost_points(each)
        if to is not None:
            paths = write_site(to, labs, address, revise=revise, explained=explained)
        else:
            paths = [release_lab(each, out, address, explained=explained) for each in labs]
        for path in paths:
            typer.echo(path)


@app.command()
def practice(
    lab: LabName,
    out: Annotated[Path, typer.Option("-o", help="where the files go")] = Path("practice"),
) -> None:
    """Write a class to practise on, with gradebook and policy."""
    from autograder.proof.practice import write_practice_class

    with _refusals():
        for path in write_practice_class(_lab(lab), out):
            typer.echo(path)


@app.command()
def grade(
    lab: LabName,
    submissions: Annotated[Path, typer.Argument(help="a folder or a zip of submissions")],
    out: Annotated[Path, typer.Option("-o", help="results, pages and gradebook go here")],
    jobs: Annotated[
        int, typer.Option(min=1, help="how many submissions to grade at the same time")
    ] = 1,
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
    watch: Annotated[
        bool, typer.Option("--watch", help="stay, and grade what arrives in the folder")
    ] = False,
    cluster: Annotated[str, typer.Option(metavar="ADDRESS", help="a Dask scheduler: tls://…")] = "",
    cluster_keys: Annotated[
        Path | None, typer.Option(help="folder that `cluster-keys` made")
    ] = None,
    sandbox: Annotated[
        bool,
        typer.Option("--sandbox/--no-sandbox", help="turn off only if you trust every submission"),
    ] = True,
) -> None:
    """Grade a lab. Run again to continue, or to grade changed files. Marks: OUT/marks.csv."""
    from autograder.grading.grade import Run, Shard, grade_shard
    from autograder.grading.grade import grade as grade_lab
    from autograder.grading.told import counts, places
    from autograder.proof.reference import refuse_lost_points
    from autograder.record.results import ERROR

    run = Run(
        jobs, seed, policy, sandbox, roster=roster, cluster=cluster, cluster_keys=cluster_keys
    )
    if watch and (shard or cluster):
        _refuse("--watch grades all of a folder on this machine: leave out --shard and --cluster")
    with _refusals():
        check_lab = partial(refuse_lost_points, _lab(lab))
        if watch:
            check_lab()
            _watch(_lab(lab), submissions, out, run)
        if shard:
            check_lab()
            part = Shard.from_text(shard)
            results = grade_shard(_lab(lab), submissions, out, run, part)
            lines = ["Grade once more without --shard when all shards are done"]
        else:
            results = grade_lab(_lab(lab), submissions, out, run, check_lab)
            lines = [f"Marks: {out / 'marks.csv'}", *places(out, results)]
            _tell_strangers(out, _lab(lab).name, [result.student for result in results])
    typer.echo("\n".join([f"{counts(results)} {lines[0]}", *lines[1:]]))
    if any(result.status == ERROR for result in results):
        raise typer.Exit(1)


def _watch(lab: Lab, place: Path, out: Path, run: Run) -> NoReturn:
    """Tell each mark as soon as it is known, until the person stops it."""
    from autograder.grading.told import one_mark
    from autograder.grading.watch import watch

    typer.echo(f"Grading what arrives in {place}. Ctrl-C stops it; the same command goes on.")
    with suppress(KeyboardInterrupt):
        for results in watch(lab, place, out, run):
            for result in results:
                typer.echo(one_mark(result))
    raise typer.Exit


@app.command("cluster-keys")
def cluster_keys(
    folder: Annotated[Path, typer.Argument(help="a new folder that only you can read")],
) -> None:
    """Make the keys that the machines of a cluster share."""
    from autograder.grading.cluster.keys import write_keys

    with _refusals():
        typer.echo(write_keys(folder))


@app.command()
def report(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    with_cases: Annotated[
        bool,
        typer.Option(help="feedback shows hidden cases, too; use it after the last attempt"),
    ] = False,
) -> None:
    """Write pages and marks again, with the marks given by hand."""
    from autograder.pages.report import write_pages
    from autograder.record.marks import marks_of, write_marks
    from autograder.record.results import read_results

    with _refusals():
        results = read_results(out / "results.jsonl")
        if not results:
            _refuse(f"{out / 'results.jsonl'} holds no results: grade first")
        marks = marks_of(out, results)
        typer.echo(write_marks(out, results, marks))
        typer.echo(write_pages(out, results, marks, with_cases=with_cases))


@app.command()
def case(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    lab: LabName,
    exercise: Annotated[str, typer.Argument(help="an exercise, as the notebook calls it")],
    check: Annotated[str, typer.Argument(help="one check; all of the exercise if not given")] = "",
    student: Annotated[str, typer.Option(help="show what this student fails")] = "",
) -> None:
    """Print hidden cases as notebook cells: the input, what was expected, and what came."""
    from autograder.pages.cases import case_cells
    from autograder.record.folder import seed_of

    with _refusals():
        results = _results_of(out, _lab(lab).name)
        cells = case_cells(results, seed_of(out, None), exercise, check, student)
    typer.echo("\n\n\n".join(cells))


@app.command()
def similar(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")], lab: LabName
) -> None:
    """Write the page of answers that are alike. It is evidence for the staff only."""
    from autograder.pages.evidence.similarity import write_similarity

    with _refusals():
        name = _lab(lab).name
        typer.echo(write_similarity(out, name, _results_of(out, name)))


@app.command()
def integrity(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    lab: LabName,
    roster: Annotated[
        Path | None, typer.Option(help="the class as a table, with the student id of each person")
    ] = None,
) -> None:
    """Write the page of flags again. It is evidence for the staff only."""
    from autograder.pages.evidence.integrity import write_integrity
    from autograder.record.folder import roster_of

    with _refusals():
        name = _lab(lab).name
        typer.echo(write_integrity(out, name, _results_of(out, name), roster_of(out, roster)))


Host = Annotated[str, typer.Option(help="an address that other machines reach; needs TLS")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="if not given, any that is free")]
Certificate = Annotated[Path | None, typer.Option("--tls-cert", help="the certificate, as PEM")]
PrivateKey = Annotated[Path | None, typer.Option("--tls-key", help="its key, as PEM")]


@app.command()
def forget(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    student: Annotated[str, typer.Argument(help="the name, as in marks.csv")],
) -> None:
    """Delete all that a folder holds about one student."""
    from autograder.record.forget import forget as deleted

    with _refusals():
        naming = deleted(out, student)
    typer.echo(f"{student}: results, files, marks and the history of marking are deleted.")
    for path in naming:
        typer.echo(f"{path} still has the name {student}.")
    if naming:
        typer.echo(
            f"`autograder report {out}` writes marks and pages again. Edit other files yourself."
        )


@app.command()
def mark(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    ta: Annotated[
        list[str] | None, typer.Option(help="a person who marks; repeat it for more")
    ] = None,
    reader: Annotated[
        list[str] | None,
        typer.Option(help="a person who sees the overview alone; repeat it for more"),
    ] = None,
    appeals: Annotated[
        Path | None,
        typer.Option(help="questions of students, as CSV: lab, exercise, student, text"),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 0,
    tls_cert: Certificate = None,
    tls_key: PrivateKey = None,
) -> None:
    """Mark written answers by rubric, in a browser."""
    import getpass

    from autograder.desk.guard import READER, Person
    from autograder.desk.serve import Place, serve, take_appeals

    people = [Person(name) for name in ta or [getpass.getuser()]]
    people += [Person(name, READER) for name in reader or []]
    with _refusals():
        if appeals:
            typer.echo(f"{take_appeals(out, appeals)} questions of students are read.")
        serve(out, people, Place(host, port, tls_cert, tls_key), typer.echo)


@app.command()
def suggest(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    lab: LabName,
    judge: Annotated[str, typer.Option(help="an OpenAI-compatible address, such as .../v1")],
    judge_model: Annotated[str, typer.Option(help="the name of the model at that address")],
    judge_key_env: Annotated[
        str | None, typer.Option(help="the environment variable that holds the key")
    ] = None,
    judge_price: Annotated[
        tuple[float, float] | None, typer.Option(help="dollars per million tokens in and out")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="accept the cost without a question")] = False,
) -> None:
    """Let a judge model suggest rubric items for written answers. A person confirms each mark."""
    import os

    from tqdm import tqdm

    from autograder.desk.suggest import Asking
    from labkit.tasks.cost import Price, known_price
    from labkit.tasks.judge import Judge

    key = os.environ.get(judge_key_env) if judge_key_env else None
    with _refusals():
        try:
            price = Price(*judge_price) if judge_price else known_price(judge_model)
            client = Judge(judge, judge_model, api_key=key)
        except ValueError as error:
            raise Refusal(str(error)) from error
        with client:
            asking = Asking(out, _lab(lab).name, client)
            typer.echo(f"{judge_model} at {client.base_url}: {asking.cost(price)}")
            typer.echo("The answers leave this machine without the students' names.")
            if not yes:
                typer.confirm("Ask?", abort=True)
            with tqdm(total=len(asking.todo), unit="answer") as bar:
                n_unclear = asking.ask(bar.update)
        n_told = len(asking.todo) - n_unclear
        typer.echo(f"Texts with suggestions: {n_told}; without a clear reply: {n_unclear}.")


@app.command()
def overview(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    host: Host = "127.0.0.1",
    port: Port = 0,
    tls_cert: Certificate = None,
    tls_key: PrivateKey = None,
) -> None:
    """Show where the class is stuck, without names, in a browser."""
    from autograder.desk.guard import READER, Person
    from autograder.desk.serve import Place, serve

    with _refusals():
        place = Place(host, port, tls_cert, tls_key)
        serve(out, [Person("overview", READER)], place, typer.echo)


@app.command()
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
    from autograder.exports import Order, points_of
    from autograder.exports import export as export_marks

    with _refusals():
        order = Order(
            form,
            [_lab(name).name for name in labs or []],
            points_of(_by_lab("--points", points)),
            _by_lab("--column", column),
        )
        notes = export_marks(out, order, path, read_roster(roster) if roster else None)
    for note in notes:
        typer.echo(note)
    typer.echo(path)


@app.command()
def regrade(
    lab: LabName,
    submissions: Annotated[Path, typer.Argument(help="a folder or a zip of submissions")],
    out: Annotated[Path, typer.Option("-o", help="the output folder of the grading")],
    exercise: Annotated[str, typer.Option(help="the exercise to judge again")],
    write: Annotated[bool, typer.Option("--write", help="write the changes, too")] = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="how many submissions to grade at the same time")
    ] = 1,
    sandbox: Annotated[
        bool,
        typer.Option("--sandbox/--no-sandbox", help="turn off only if you trust every submission"),
    ] = True,
) -> None:
    """Judge one exercise again after its check was corrected. Show whose marks change."""
    from autograder.grading.grade import Run
    from autograder.grading.regrade import plan_regrade

    with _refusals():
        plan = plan_regrade(_lab(lab), submissions, out, exercise, Run(jobs=jobs, sandbox=sandbox))
        for line in plan.told():
            typer.echo(line)
        if write:
            plan.write()
    typer.echo("Written." if write else "Nothing is written; --write does it.")


def _tell_strangers(out: Path, lab: str, students: list[str]) -> None:
    from autograder.record.folder import policy_of

    for name in policy_of(out).strangers(lab, students):
        typer.echo(f"{name} has an extension, but no submission has that name", err=True)


def _by_lab(option: str, given: list[str] | None) -> dict[str, str]:
    """LAB=VALUE, as often as it was given."""
    pairs = [text.partition("=") for text in given or []]
    for lab, _, value in pairs:
        if not value:
            _refuse(f"{option} needs LAB=VALUE, got {lab}")
    return {_lab(lab).name: value for lab, _, value in pairs}


def _results_of(out: Path, lab: str) -> list[Result]:
    """A lab's results; refused if there are none."""
    from autograder.record.results import read_results

    results = [result for result in read_results(out / "results.jsonl") if result.lab == lab]
    if not results:
        _refuse(f"{out / 'results.jsonl'} holds no results of {lab}: grade it first")
    return results


@contextmanager
def _refusals() -> Iterator[None]:
    """Report in one sentence a problem that a person can solve."""
    try:
        yield
    except Refusal as error:
        _refuse(error)
    except OSError as error:
        _refuse(
            f"{error.filename or 'a file'}: {error.strerror or error}; the record is kept: "
            "correct this and give the command again"
        )


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
