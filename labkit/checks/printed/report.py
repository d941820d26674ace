"""A notebook's answers, figures and tables as one page to print.

    labkit report 04_kv_cache.ipynb

All of the student's own cells stand there with what they gave; of the other cells, figures and
tables. Nothing on the page runs or is loaded from elsewhere.
"""

import argparse
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from html import escape, unescape
from pathlib import Path
from typing import Any

from labkit.checks.outline import prose_of
from labkit.checks.written import digests_of, is_unwritten

OWN, SHOWN = ("exercise", "answer", ""), ("given", "experiment")
PICTURES = ("image/png", "image/jpeg", "image/gif")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="content-security-policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ color-scheme: light; }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; margin: 0 auto;
  max-width: 60rem; padding: 1rem; overflow-wrap: anywhere; }}
pre, .text {{ white-space: pre-wrap; margin: .4rem 0; }}
pre {{ background: #f6f8fa; border: 1px solid #d0d7de; padding: .5rem; font-size: .85rem; }}
.text {{ border-left: .3rem solid #0969da; padding-left: .8rem; unicode-bidi: plaintext; }}
.scroll {{ overflow-x: auto; }} img, svg {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; }} td, th {{ padding: .1rem .6rem; text-align: left; }}
figure {{ margin: .6rem 0; break-inside: avoid; }}
@media print {{ body {{ max-width: none; font-size: 10pt; }} h2 {{ break-after: avoid; }} }}
</style></head>
<body><main><h1>{title}</h1>
{body}
</main></body></html>
"""


def write_report(notebook: Path, page: Path | None = None) -> Path:
    """Write the page of a notebook on disk, beside it if no other place is given; returns its path.

    Raises: OSError; ValueError if the file is no notebook.
    """
    page = page or notebook.with_name(f"{notebook.stem}-report.html")
    try:
        whole = json.loads(notebook.read_bytes())
        cells, lab = whole["cells"], whole["metadata"].get("labkit", {}).get("lab", "")
        body = "\n".join(_parts(cells, prose_of(lab.partition("_")[2])))
        text = PAGE.format(title=_title(cells, notebook.stem), body=body)
    except (LookupError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise ValueError(f"{notebook} is no notebook: {error!r}") from None
    page.write_bytes(text.encode(errors="replace"))
    return page


def button(notebook: Path) -> Any:
    """A button that writes the page. Raises: ImportError where there are no widgets."""
    from ipywidgets import HTML, Button, HBox, Layout

    said = HTML()

    def write(_: Any) -> None:
        try:
            page = write_report(notebook)
            link = escape(os.path.relpath(page), quote=True)
            said.value = f'<a href="{link}" target="_blank">{escape(page.name)}</a> is written.'
        except (OSError, ValueError) as error:
            said.value = escape(str(error))

    made = Button(description="Write my answers as a page to print", layout=Layout(width="auto"))
    made.on_click(write)
    return HBox([made, said])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("notebook", type=Path, help="the notebook of a lab, as it was saved")
    parser.add_argument("-o", type=Path, dest="page", help="the page; beside it if not given")


def main(args: argparse.Namespace) -> None:
    """Write the page, and print its path."""
    print(write_report(args.notebook, args.page))


def _title(cells: list, name: str) -> str:
    """The notebook's first heading, and who wrote it."""
    texts = [_text(cell["source"]) for cell in cells]
    headings = [line[2:] for text in texts for line in text.splitlines() if line.startswith("# ")]
    who = re.findall(r"^student_(?:name|id) = [\"'](.*)[\"']", "\n".join(texts), re.MULTILINE)
    return escape(", ".join([*headings[:1], *who]) or name)


def _parts(cells: list, prose: Collection[str]) -> Iterator[str]:
    """The page cell by cell, each below the last heading before it. prose: see `prose_of`."""
    heading = shown = ""
    for cell in cells:
        text, ours = _text(cell["source"]), cell["metadata"].get("labkit", {})
        kind, is_code = ours.get("kind", ""), cell["cell_type"] == "code"
        if not is_code and kind == "":
            heading = (re.findall(r"^##+ (.*)", text, re.MULTILINE) or [heading])[-1]
            kind = "prose" if not prose or digests_of(text) & {*prose} else "written"
        if part := "\n".join(_cell(cell, text, kind, is_code)):
            if heading != shown:
                yield f"<h2>{escape(heading)}</h2>"
                shown = heading
            yield part


def _cell(cell: Mapping[str, Any], text: str, kind: str, is_code: bool) -> Iterator[str]:
    if kind == "written":
        blank = "<p>Not written yet.</p>"
        yield blank if is_unwritten(text) else f'<div class="text" dir="auto">{escape(text)}</div>'
        for name, bundle in cell.get("attachments", {}).items():
            yield from _picture(bundle, name)
    elif is_code and kind in OWN + SHOWN:
        if kind in OWN:
            yield f'<pre tabindex="0">{escape(text)}</pre>' if text.strip() else ""
        for output in cell.get("outputs", ()):
            yield from _output(output, is_own=kind in OWN)


def _output(output: Mapping[str, Any], is_own: bool) -> Iterator[str]:
    """An output as HTML. is_own: of a cell of the student's, of which text is shown, too."""
    bundle = output.get("data", {})
    html = _text(bundle.get("text/html", ""))
    alt = re.search(r'\balt="([^"]+)"', html)
    pictures = [*_picture(bundle, unescape(alt[1]) if alt else "a figure of this notebook")]
    if pictures:
        yield from pictures
    elif "<table" in html or "<img" in html or "<svg" in html:
        yield f'<div class="scroll" tabindex="0" role="group" aria-label="output">{html}</div>'
    elif is_own:
        said = output.get("text", bundle.get("text/plain", output.get("evalue", "")))
        if said := ESCAPES.sub("", _text(said)).strip():
            yield f'<pre tabindex="0">{escape(said)}</pre>'


def _picture(bundle: Mapping[str, Any], alt: str) -> Iterator[str]:
    for kind in PICTURES:
        with suppress(KeyError):
            data = escape(_text(bundle[kind]).strip(), quote=True)
            label = escape(alt, quote=True)
            yield f'<figure><img alt="{label}" src="data:{kind};base64,{data}"></figure>'
            return


def _text(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)
