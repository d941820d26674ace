"""Who may use the desk: a token in the address, then a cookie; forms that are the desk's own.

No page may run a script or load a picture that the desk itself does not serve.
"""

import hashlib
import hmac
import html
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MARKER, READER = "marker", "reader"
LARGEST_FORM = 1 << 17
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_ASKED = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Who are you?</title>
<link rel="stylesheet" href="/static/desk.css"></head><body><main>
<h1>Who are you?</h1>
<p>This browser is signed in as {0}. The address that you opened is that of {1}.</p>
<form method="post"><input type="hidden" name="csrf" value="{2}">
<p><button>Go on as {1}</button> <a href="/">Stay {0}</a></p></form>
</main></body></html>
"""
_PUBLIC, _FOR_READERS = "/static/", ("/", "/overview")


@dataclass(frozen=True)
class TokenHolder:
    """A person with a token. role: a marker gives marks, a reader sees only the overview."""

    name: str
    role: str = MARKER
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def csrf(self) -> str:
        """The token in this person's forms; other sites cannot know it."""
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()


class Guard:
    """The app, with the checks of every request before it."""

    def __init__(self, app: ASGIApp, people: Iterable[TokenHolder], origin: str) -> None:
        """origin: scheme, host and port of the address, such as http://127.0.0.1:8000."""
        self._app, self._people, self._origin = app, list(people), origin
        self._host = origin.partition("://")[2]
        self._cookie = re.sub(r"\W", "-", f"desk-{self._host}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request: refused, or passed on with its person and its form."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        answer = await self._answer(request)
        await (answer or self._app)(scope, receive, _with_headers(send))

    async def _answer(self, request: Request) -> Response | None:
        """The response that replaces the app's; None if the app may answer."""
        if request.headers.get("host") != self._host:
            return _refusal("This address is not the desk's own.")
        if request.url.path.startswith(_PUBLIC) and request.method == "GET":
            return None
        person = self._person(self._token_in_cookie(request))
        if token := request.query_params.get("token"):
            return await self._signed_in(request, person, token)
        if person is None:
            return _refusal("Open the address that the command printed. It holds your token.")
        request.scope["person"] = person
        is_read = request.method in ("GET", "HEAD")
        if person.role != MARKER and not (is_read and request.url.path in _FOR_READERS):
            return _refusal("You may only read the overview.")
        if is_read:
            return None
        return await self._form_refusal(request, person)

    async def _form_refusal(self, request: Request, person: TokenHolder) -> Response | None:
        if request.headers.get("origin", self._origin) != self._origin:
            return _refusal("This form comes from another site.")
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_FORM:
                return _refusal("This form is too large.", 413)
        form = parse_qs(body.decode(errors="replace"), keep_blank_values=True)
        if not hmac.compare_digest(form.get("csrf", [""])[0].encode(), person.csrf.encode()):
            return _refusal("This form is out of date. Open the page again.")
        request.scope["form"] = form
        return None

    async def _signed_in(
        self, request: Request, person: TokenHolder | None, token: str
    ) -> Response:
        """Sign in by a token. A person who is signed in already is asked before."""
        other = self._person(token)
        if other is None:
            return _refusal("This token is not valid. Open the address that the command printed.")
        if person and person is not other:
            if request.method == "GET":
                asked = _ASKED.format(*map(html.escape, (person.name, other.name, person.csrf)))
                return HTMLResponse(asked)
            if refusal := await self._form_refusal(request, person):
                return refusal
        answer = RedirectResponse("/", 303)
        is_tls = self._origin.startswith("https:")
        answer.set_cookie(self._cookie, token, httponly=True, samesite="lax", secure=is_tls)
        return answer

    def _token_in_cookie(self, request: Request) -> str:
        try:
            cookie = SimpleCookie(request.headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return cookie.value if cookie else ""

    def _person(self, token: str) -> TokenHolder | None:
        given = token.encode(errors="replace")
        found = [each for each in self._people if hmac.compare_digest(each.token.encode(), given)]
        return found[0] if found else None


def _refusal(sentence: str, status: int = 403) -> Response:
    return PlainTextResponse(sentence, status)


def _with_headers(send: Send) -> Send:
    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message["headers"] = [*message["headers"], *own]
        await send(message)

    return send_with
