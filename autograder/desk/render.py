"""How the desk's pages are made from templates; every text in them is escaped."""

import secrets
from functools import cache
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from autograder.desk.guard import READER
from autograder.pages.render import escaping
from autograder.pages.shown import as_code, plain
from labkit.checks.card import with_code

STATIC = {
    "desk.js": "text/javascript",
    "overview.js": "text/javascript",
    "notebook.js": "text/javascript",
    "desk.css": "text/css",
}


def static(request: Request) -> Response:
    """The desk's own script and style."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    return Response(_static(name), media_type=STATIC[name])


def page(request: Request, template: str, status: int = 200, **values: object) -> Response:
    """A page with what every page has: its person, and the names that its forms carry."""
    person = request.scope["person"]
    common = {"person": person, "is_reader": person.role == READER}
    text = (
        _environment().get_template(template).render(**common, new_request=_new_request, **values)
    )
    return HTMLResponse(text.encode(errors="replace"), status)


def _new_request() -> str:
    return secrets.token_hex(12)


@cache
def _static(name: str) -> bytes:
    return Path(__file__).with_name("static").joinpath(name).read_bytes()


@cache
def _environment() -> Environment:
    environment = escaping("autograder.desk")
    environment.filters |= {
        "code": as_code,
        "plain": plain,
        "prose": lambda text: Markup(with_code(text)),
    }
    return environment
