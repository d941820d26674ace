"""Moments of the labs' players: the reference answers play, a page shows them without a kernel."""

import re
from base64 import b64decode
from functools import cache
from importlib import import_module

from autograder.builder.source import Lab

CALL = re.compile(r"^(\w+_player)\(([\w, ]+)\)$", re.MULTILINE)
STRIP = re.compile(r"<details>.*?</summary>(.*)</details>", re.DOTALL)
PICTURE = re.compile(r'src="data:image/png;base64,([^"]+)"')


@cache
def player_files(lab: Lab) -> tuple[str, dict[str, bytes]]:
    """HTML for a page of a folder beside `moments`, and its pictures by their path in the site.

    What the notebook calls is called here, with the lab's reference answers. ("", {}) for a lab
    without a player.
    """
    found = CALL.search("\n".join(cell.text for cell in lab.cells))
    if not found:
        return "", {}
    widget = import_module(f"labkit.labs.{lab.topic}.widget")
    answers = vars(import_module(f"labkit.{lab.topic}"))
    given = [answers[name] for name in found[2].split(", ") if name in answers]
    data, _ = getattr(widget, found[1])(*given)._repr_mimebundle_()
    files: dict[str, bytes] = {}

    def as_file(picture: re.Match) -> str:
        path = f"moments/{lab.name}-{len(files)}.png"
        files[path] = b64decode(picture[1])
        return f'loading="lazy" src="../{path}"'

    strip = PICTURE.sub(as_file, STRIP.search(data["text/html"])[1])
    return f'<div class="player">{strip}</div>', files
