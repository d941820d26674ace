"""Commands that open the marking desk in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from autograder.cli.shared import LabName, named_lab, refusals
from autograder.errors import Refusal

commands = typer.Typer()

Host = Annotated[str, typer.Option(help="an address that other machines reach; needs TLS")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="if not given, any that is free")]
Certificate = Annotated[Path | None, typer.Option("--tls-cert", help="the certificate, as PEM")]
PrivateKey = Annotated[Path | None, typer.Option("--tls-key", help="its key, as PEM")]


@commands.command()
def mark(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    ta: Annotated[
        list[str] | None, typer.Option(help="a person who marks; repeat it for more")
    ] = None,
    reader: Annotated[
        list[str] | None,
        typer.Option(help="a person who sees only the overview; repeat it for more"),
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
    from autograder.desk.guard import READER, TokenHolder
    from autograder.desk.serve import Place, serve, take_appeals

    with refusals():
        people = [TokenHolder(name) for name in ta or [_own_name()]]
        people += [TokenHolder(name, READER) for name in reader or []]
        if appeals:
            typer.echo(f"{take_appeals(out, appeals)} questions of students are read.")
        serve(out, people, Place(host, port, tls_cert, tls_key), typer.echo)


@commands.command()
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
    from tqdm import tqdm

    from autograder.desk.suggest import Asking
    from autograder.judge_model import judge_of

    with refusals():
        try:
            client, price = judge_of(judge, judge_model, judge_key_env, judge_price)
        except ValueError as error:
            raise Refusal(str(error)) from error
        with client:
            asking = Asking(out, named_lab(lab).name, client)
            typer.echo(f"{judge_model} at {client.base_url}: {asking.cost(price)}")
            typer.echo("The answers leave this machine without the students' names.")
            if not yes and not _agreed():
                raise typer.Exit(1)
            with tqdm(total=len(asking.todo), unit="answer") as bar:
                n_unclear = asking.ask(bar.update)
        n_told = len(asking.todo) - n_unclear
        typer.echo(f"Texts with suggestions: {n_told}; without a clear reply: {n_unclear}.")


def _agreed() -> bool:
    """Whether the person at the terminal answers yes. Raises: Refusal without a terminal."""
    try:
        return typer.confirm("Ask?")
    except typer.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise
        raise Refusal(
            "nobody can answer here, because the command has no terminal: "
            "--yes accepts the cost without a question"
        ) from None


@commands.command()
def overview(
    out: Annotated[Path, typer.Argument(help="the output folder of a grading")],
    host: Host = "127.0.0.1",
    port: Port = 0,
    tls_cert: Certificate = None,
    tls_key: PrivateKey = None,
) -> None:
    """Show where the class is stuck, without names, in a browser."""
    from autograder.desk.guard import READER, TokenHolder
    from autograder.desk.serve import Place, serve

    with refusals():
        place = Place(host, port, tls_cert, tls_key)
        serve(out, [TokenHolder("overview", READER)], place, typer.echo)


def _own_name() -> str:
    """What this machine calls the person. Raises: Refusal if it has no name, as in a container."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise Refusal(
            "this machine has no name for your user id: give --ta with your name. It stands beside "
            "each mark in the history"
        ) from None
