"""The figures of the labs, in one style: each function takes numbers or functions, and returns one.

Figures are closed before they are returned, so that a notebook shows each of them once.
"""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

STYLE = {
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8a8a",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "lines.linewidth": 2.0,
    "legend.frameon": False,
}
# Okabe and Ito's colours: every kind of colour vision tells them apart. Red is for too much.
COLORS = {
    "weights": "#0072b2",
    "cache": "#e69f00",
    "free": "#ececec",
    "too much": "#c8102e",
    "reference": "#777777",
}
GB = 10**9


@contextmanager
def course_style() -> Iterator[None]:
    """Draw what is inside in the style of the course, and leave the settings as they were."""
    with plt.rc_context(STYLE):
        yield


def png_bytes(figure: Figure) -> bytes:
    """A figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def save(figures: Mapping[str, Figure], out: str | Path) -> list[Path]:
    """Write figures into a folder, by their names; returns the files."""
    files = {Path(out) / f"{name}.png": figure for name, figure in figures.items()}
    for path, figure in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    return list(files)


FAMILY_COLORS = ("#56b4e9", "#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7")
