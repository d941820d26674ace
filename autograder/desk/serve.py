"""Starting the desk: on this machine alone, or with TLS for several people."""

import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from autograder.desk.answers import Answers
from autograder.desk.appeals import Appeals
from autograder.desk.guard import TokenHolder
from autograder.desk.server import make_app
from autograder.desk.store import MarkStore
from autograder.desk.tables import DeskTables
from autograder.errors import Refusal
from autograder.record.database import gradebook_of

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """Where the desk listens. port: 0 for any that is free; the two files are for TLS."""

    host: str = LOOPBACK
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None


def take_appeals(out: Path, table: Path) -> int:
    """Keep the questions of students that a CSV file holds; how many. Raises: Refusal."""
    tables = DeskTables(gradebook_of(out))
    return Appeals(out, tables, MarkStore(tables, (), Answers(out, "").digest)).read(table)


def serve(
    out: Path, people: Sequence[TokenHolder], place: Place, announce: Callable[[str], None]
) -> None:
    """Serve until the process is interrupted. announce: prints each person's address.

    Raises: Refusal if other machines could read along, or if nothing was graded.
    """
    if place.host != LOOPBACK and not (place.certificate and place.key):
        raise Refusal(
            f"--host {place.host} needs --tls-cert and --tls-key: other machines could read along"
        )
    for file in filter(None, (place.certificate, place.key)):
        if not file.is_file():
            raise Refusal(f"{file} does not exist")
    with closing(_listening(place)) as listening:
        scheme = "https" if place.certificate else "http"
        origin = origin_of(scheme, place.host, listening.getsockname()[1])
        app = make_app(out, list(people), origin)
        for person in people:
            announce(f"{person.name}, {person.role}: {origin}/?token={person.token}")
        announce("Ctrl-C stops it; every mark is saved.")
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ssl_certfile=place.certificate,
            ssl_keyfile=place.key,
        )
        uvicorn.Server(config).run(sockets=[listening])


def origin_of(scheme: str, host: str, port: int) -> str:
    """The address as browsers send it: without the port that the scheme implies."""
    is_implied = (scheme, port) in (("http", 80), ("https", 443))
    return f"{scheme}://{host}" if is_implied else f"{scheme}://{host}:{port}"


def _listening(place: Place) -> socket.socket:
    try:
        return socket.create_server((place.host, place.port))
    except OSError as error:
        raise Refusal(
            f"{place.host}:{place.port} cannot be used ({error.strerror}): give another --port"
        ) from error
