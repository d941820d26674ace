"""Moments of the labs' players: the reference answers play, a page shows them without a kernel."""

import re
from base64 import b64decode
from functools import cache

from autograder.builder.source import Lab
from labkit.labs.show import players
from labkit.measuring.plots import strip_html

PICTURE = re.compile(r'src="data:image/png;base64,([^"]+)"')


@cache
def player_files(lab: Lab) -> tuple[str, dict[str, bytes]]:
    """HTML for a page of a folder beside `moments`, and its pictures by their path in the site.

    ("", {}) for a lab without a player.
    """
    demo = players().get(lab.topic)
    if not demo:
        return "", {}
    files: dict[str, bytes] = {}

    def as_file(picture: re.Match) -> str:
        path = f"moments/{lab.name}-{len(files)}.png"
        files[path] = b64decode(picture[1])
        return f'loading="lazy" src="../{path}"'

    strip = PICTURE.sub(as_file, strip_html(demo().moments()))
    return f'<div class="player">{strip}</div>', files
