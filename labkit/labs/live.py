"""A calculator on a page of its own for the lecture: each choice is drawn anew, no notebook needed.

The page comes from a server in this process, which only this machine can reach.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from labkit.measuring.widgets import Control

SCRIPT = """<script>
const form = document.forms[0], shown = document.querySelector("main")
async function draw() {
  for (const range of form.querySelectorAll("input"))
    range.nextElementSibling.value = JSON.parse(range.dataset.labels)[range.value]
  const page = await fetch("picture?" + new URLSearchParams(new FormData(form)))
  shown.innerHTML = await page.text()
}
form.addEventListener("input", draw)
draw()
</script>"""


def make_server(
    page: Callable[[str], str], controls: Sequence[Control], draw: Callable[..., str]
) -> ThreadingHTTPServer:
    """A server of the page of these controls, at a free port; `serve_forever` starts it.

    page: makes a whole page of its body. draw: HTML of what the controls choose, by name.
    """
    choices = {each.name: options_of(each) for each in controls}
    whole, one_at_a_time = page(_body(controls)), Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            if address.path == "/":
                self._send(200, whole)
                return
            try:
                picked = {name: int(place) for name, place in parse_qsl(address.query)}
                chosen = {name: each[picked[name]][1] for name, each in choices.items()}
            except (KeyError, IndexError, ValueError):
                self._send(404, "")
                return
            with one_at_a_time:  # matplotlib draws for one thread at a time
                drawn = draw(**chosen)
            self._send(200, drawn)

        def _send(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            """Nothing is printed for a request."""

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


def options_of(control: Control) -> list[tuple[str, Any]]:
    """The label and the value of each option."""
    options = control.options
    if isinstance(options, Mapping):
        return [*options.items()]
    return [each if isinstance(each, tuple) else (str(each), each) for each in options]


def _body(controls: Sequence[Control]) -> str:
    fields = "".join(map(_field, controls))
    return f"<form>{fields}</form><main aria-live='polite'></main>{SCRIPT}"


def _field(control: Control) -> str:
    """A menu, or a slider with its value beside it."""
    labels = [label for label, _ in options_of(control)]
    place = [value for _, value in options_of(control)].index(control.value)
    if control.is_menu:
        options = "".join(
            f"<option value={i}{' selected' if i == place else ''}>{escape(label)}</option>"
            for i, label in enumerate(labels)
        )
        field = f"<select name={control.name}>{options}</select>"
    else:
        field = (
            f"<input type=range name={control.name} min=0 max={len(labels) - 1} value={place} "
            f'data-labels="{escape(json.dumps(labels))}"><output></output>'
        )
    return f"<label>{escape(control.label)} {field}</label>"
