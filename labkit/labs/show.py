"""A player or a figure of the kit's records, alone on a page: for a lecture, no notebook.

labkit show             list them, and what each shows
labkit show NAME        open one in the browser
"""

import argparse
import re
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from labkit.labs.each import of_each_lab
from labkit.labs.screen import for_screen
from labkit.measuring.plots import CourseFigure, Drawing, png_bytes, strip_html
from labkit.measuring.records import Record, recorded_results

PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
  body {{ margin: 0; padding: 1vh 1vw; background: #ffffff; color: #1f2933; font: 20px system-ui; }}
  button {{ font: inherit; padding: .2em .8em; }}
  figure, [tabindex] {{ max-width: none !important; }}
  figure {{ margin: 0 !important; text-align: center; }}
  img {{ width: auto !important; max-width: 98vw !important; height: {height}vh !important;
    object-fit: contain; }}
  figcaption, button, label, select, output {{ font-size: max(20px, 2.8vh); }}
  form {{ display: flex; flex-wrap: wrap; gap: .3em 1.5em; }}
  label, select {{ min-width: 0; max-width: 100%; }}
</style>
</head>
<body>{body}</body>
<script>
const next = ["ArrowRight", "PageDown", " "], back = ["ArrowLeft", "PageUp"];
const buttons = [...document.querySelectorAll("body > div button")];
addEventListener("keydown", (event) => {{
  const place = next.includes(event.key) ? 1 : back.includes(event.key) ? 0 : -1;
  if (place < 0 || !buttons.length || (event.key === " " && event.target.closest("button"))) return;
  event.preventDefault(); // else the strip scrolls as well
  buttons[place].click();
}});
</script>
</html>
"""

FILLED = 0.8  # of a page's height, by a figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `main`."""
    parser.add_argument(
        "name", nargs="?", help="one of the list that is printed if it is not given"
    )
    parser.add_argument("--out", type=Path, help="the file that gets the page")
    parser.add_argument("--no-open", action="store_true", help="only write the page")


def main(args: argparse.Namespace) -> None:
    """List what there is, or write one page and open it; the page needs no network.

    Raises: ValueError for another name.
    """
    records = recorded_results()
    if args.name is None:
        for name, about in _abouts(records):
            print(f"{name:31} {about}")
        return
    names: list[str] = []
    for makers in _makers(records):
        names += makers
        if make := makers.get(args.name):
            break
    else:
        raise ValueError(f"nothing is called {args.name!r}; there are {', '.join(names)}")
    try:
        if args.name in players() and not (args.out or args.no_open) and _is_played(args.name):
            return
        body = make()
    except NotImplementedError:
        raise ValueError(f"{args.name} plays answers that are still to do in this labkit") from None
    out = args.out or Path(tempfile.mkdtemp()) / f"{args.name}.html"
    out.write_text(page_of(args.name, body), encoding="utf-8")
    print(out)
    if not args.no_open:
        webbrowser.open(out.resolve().as_uri())


def _makers(records: Mapping[str, Record]) -> Iterator[dict[str, Callable[[], str]]]:
    """What makes each page, by name. Players come last, for they import torch."""
    yield {name: partial(_large, draw) for name, draw in figures(records).items()}
    yield {topic: partial(_large_player, demo) for topic, demo in players().items()}


def _abouts(records: Mapping[str, Record]) -> Iterator[tuple[str, str]]:
    """What each player and figure shows, in a sentence."""
    for topic, demo in players().items():
        yield topic, sys.modules[demo.__module__].__doc__.partition("\n")[0]
    for name, draw in figures(records).items():
        yield name, re.split(r"(?<=\.)\s", draw().alt)[0]


def players() -> dict[str, Callable[[], Any]]:
    """What makes the player of each lab that has one, by topic."""
    return {demo.__module__.split(".")[2]: demo for demo in of_each_lab("widget", "demo")}


def figures(records: Mapping[str, Record]) -> dict[str, Drawing]:
    """What draws each figure of these records, by the name of its file."""
    found = {}
    for figures_of in of_each_lab("figures", "figures_of"):
        found |= figures_of(records)
    return found


def _is_played(name: str) -> bool:
    """Serve a calculator until Ctrl-C; False, at once, for what has no controls on a page."""
    made = players()[name]()
    if not getattr(made, "controls", ()):
        return False
    from labkit.labs.live import make_server

    made.draw(**{each.name: each.value for each in made.controls})  # an answer may be missing
    server = make_server(
        partial(page_of, name),
        made.controls,
        lambda **chosen: _large(lambda: made.draw(**chosen)),
    )
    address = f"http://127.0.0.1:{server.server_port}/"
    print(f"{address} draws each choice anew; Ctrl-C ends it", flush=True)
    webbrowser.open(address)
    with suppress(KeyboardInterrupt), server:
        server.serve_forever()
    return True


def page_of(name: str, body: str) -> str:
    """A page alone, with this title and body."""
    return PAGE.format(title=escape(name), body=body, height=round(100 * FILLED))


def _large_player(demo: Callable[[], Any]) -> str:
    made = demo()
    if isinstance(made, CourseFigure):  # without ipywidgets
        return _large(lambda: made)
    moments = made.moments()
    if not moments:
        raise NotImplementedError
    return strip_html([for_screen(moment, FILLED) for moment in moments], sharpness=2)


def _large(draw: Drawing) -> str:
    figure = for_screen(draw(), FILLED)
    return figure.html(png_bytes(figure))
