"""The desk's store of one lab, hostile answers, and a person who marks without end:
`desk_store.py OUT NAME`.
"""

import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

from autograder.desk.states import AnswerId, State
from autograder.desk.store import MarkStore
from autograder.desk.tables import DeskTables

LAB = "01_memory"
STUDENTS = ("ada", "bo", "cy", "di")
KEYS = [AnswerId(LAB, "growth", student) for student in STUDENTS]
HOSTILE = {
    "html": "<script>fetch('/')</script><img src=x onerror=alert(1)><form action=/undo><input>",
    "svg": "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>",
    "href": r"$\href{javascript:alert(1)}{click}$ and $$\href{data:text/html,x}{y}$$",
    "links": "[a](javascript:alert(1)) [b](data:text/html;base64,PHNjcmlwdD4=) [c](vbscript:x)",
    "data": "![x](data:image/svg+xml;base64,PHN2Zy8+) ![y](attachment:picture-1)",
    "remote": "![x](https://example.org/pixel.png) <link rel=stylesheet href=//example.org/x>",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; [x](&#106;avascript:alert(1))",
    "right to left": "Ten points \u202eevig \u2066stniop\u2069 \u200f",
    "megabyte": "[" * 500_000 + "<b>" * 170_000,
    "template": "{{ 7 * 7 }} {% raw %} ${alert(1)}",
    "null": "a\0b\ud800c",
}


class Found(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs


def is_harmless(html):
    """Whether it runs nothing and loads nothing but pasted pictures."""
    found = Found(html)
    links = [value for name, value in found.attributes if name == "href"]
    sources = [value for name, value in found.attributes if name == "src"]
    return (
        not found.tags & {"script", "svg", "iframe", "style", "form", "input", "object", "math"}
        and {name for name, _ in found.attributes}
        <= {"href", "src", "alt", "rel", "class", "start", "height"}
        and all(re.match(r"https?:|mailto:|[^:]*$", link) for link in links)
        and all(source.startswith("data:image/png;base64,") for source in sources)
    )


def open_store(out, questions=(), text_of=lambda key: ""):
    return MarkStore(DeskTables(out / "course" / "gradebook.db"), questions, text_of)


def mark_without_end(out, who):
    """Print the name of each request that is acknowledged."""
    store, n = open_store(out), 0
    while True:
        request = f"{who}-{n}"
        mark = State(n % 5 / 4, request, (), False)
        store.give({KEYS[n % len(KEYS)]: mark}, who, request, {})
        print(request, flush=True)
        n += 1
        time.sleep(0.01)  # else the other person never gets the lock


if __name__ == "__main__":
    mark_without_end(Path(sys.argv[1]), sys.argv[2])
