"""How pages are made from templates; every text in them is escaped."""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from markupsafe import Markup

from autograder.builder.source import read_course
from autograder.pages.shown import shown
from autograder.places import REPOSITORY
from autograder.record.marks import as_points
from labkit.checks.card import with_code

COMPILED = REPOSITORY / "build" / "templates"


def render_page(template: str, **values: object) -> bytes:
    """A page from one of the grader's templates; half a character becomes a question mark."""
    return _environment().get_template(template).render(**values).encode(errors="replace")


def escaping(package: str) -> Environment:
    """The templates of a package: every text is escaped, and a name that is missing is an error."""
    environment = Environment(
        loader=PackageLoader(package),
        bytecode_cache=_compiled(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"points": as_points, "markdown": shown, "sentence": _sentence}
    return environment


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _names(people: Iterable[str], between: str = ", ") -> Markup:
    """Names in a row, each with the direction of its own script."""
    return Markup(between).join(Markup("<bdi>{}</bdi>").format(name) for name in people)


def _compiled() -> FileSystemBytecodeCache | None:
    """Where compiled templates stay, for to compile them takes longer than to fill them in."""
    with suppress(OSError):
        COMPILED.mkdir(parents=True, exist_ok=True)
    return FileSystemBytecodeCache(str(COMPILED)) if os.access(COMPILED, os.W_OK) else None


def mistake_page(number: str, lab: str) -> Markup:
    """Where a known mistake is described: a link to the course's site, or the place in docs."""
    anchor, site = number.replace(".", ""), read_course().site.rstrip("/")
    if not site:
        return Markup("<code>docs/mistakes/{}.md#{}</code>").format(lab, anchor)
    link = '<a href="{}/docs/mistakes/{}.html#{}">the page of known mistake {}</a>'
    return Markup(link).format(site, lab, anchor, number)


@cache
def _environment() -> Environment:
    environment = escaping("autograder.pages")
    environment.filters["prose"] = lambda text: Markup(with_code(text))
    environment.filters["names"] = _names
    environment.filters["mistake_page"] = mistake_page
    environment.filters["from"] = lambda key, table: table.get(key, "")
    return environment
