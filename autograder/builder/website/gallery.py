"""The player of each lab, and its figures: those of `tests/labs/LAB/every_figure.py`."""

import re
import runpy
from collections.abc import Sequence

from autograder.builder.source import Lab
from autograder.builder.website.players import player_files
from autograder.places import REPOSITORY
from labkit.measuring.plots import PIXELS, CourseFigure, png_bytes

FIGURE = """\
```{{figure}} {picture}
:alt: {alt}
:width: {width}px
:loading: lazy

{caption}
```"""


def gallery_files(labs: Sequence[Lab]) -> dict[str, bytes]:
    """A page for each of these labs that has figures, and its pictures, by path in the site."""
    return {path: content for lab in labs for path, content in _of_lab(lab).items()}


def _of_lab(lab: Lab) -> dict[str, bytes]:
    table = REPOSITORY / "tests/labs" / lab.topic / "every_figure.py"
    if not table.exists():
        return {}
    player, moments = player_files(lab)
    files, shown = {}, [f"# Figures of lab {lab.number}", player]
    for name, figure in runpy.run_path(str(table))["every_figure"]():
        picture = f"{lab.name}/{re.sub(r'[^a-z0-9]+', '-', name.lower())}.png"
        files[f"gallery/{picture}"] = png_bytes(figure)
        shown.append(_figure(picture, figure))
    return moments | files | {f"gallery/{lab.name}.md": "\n\n".join(shown).encode()}


def _figure(picture: str, figure: CourseFigure) -> str:
    width = round(PIXELS * figure.get_size_inches()[0])
    return FIGURE.format(picture=picture, alt=figure.alt, width=width, caption=figure.caption)
