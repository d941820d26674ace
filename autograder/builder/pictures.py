"""The picture that opens a lab: drawn by its `picture.py`, committed as PNG, put in its notebook.

An author writes `<!-- picture: what it shows -->` into a cell; the words are the alternative text.
`python -m autograder.builder.pictures` draws all of them again.
"""

import argparse
import base64
import re
from collections.abc import Iterable
from pathlib import Path

from autograder.builder.source import Lab, read_labs
from autograder.labs import part_of
from autograder.places import NOTEBOOKS

PLACE = re.compile(r"<!-- picture: (.+?) -->", re.DOTALL)
NAME = "picture.png"


def picture_path(lab: Lab) -> Path:
    """Where the lab's picture is committed."""
    return NOTEBOOKS / "pictures" / f"{lab.name}.png"


def with_picture(lab: Lab, text: str) -> tuple[str, dict]:
    """A cell's text with its picture in place of the comment, and the cell's attachments."""
    if not PLACE.search(text) or not picture_path(lab).exists():
        return text, {}
    picture = base64.b64encode(picture_path(lab).read_bytes()).decode()
    shown = PLACE.sub(lambda found: f"![{' '.join(found[1].split())}](attachment:{NAME})", text)
    return shown, {NAME: {"image/png": picture}}


def draw_all(labs: Iterable[Lab]) -> list[Path]:
    """Draw the pictures of these labs; returns their paths. Labs without one are left out."""
    drawn = []
    for lab in labs:
        if (draw := part_of(lab.topic, "picture")) is not None:
            draw.draw().save(picture_path(lab))
            drawn.append(picture_path(lab))
    return drawn


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(*draw_all(read_labs()), sep="\n")
