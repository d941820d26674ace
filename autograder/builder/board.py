"""A board for a lab's picture: boxes, arrows and words.

It has a white ground of its own, because a notebook shows it as it is on light and on dark pages.
"""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.patheffects import Normal

from labkit.measuring.plots import INK

OUTLINES = (Normal(),)  # letters are drawn as outlines, which every machine draws alike
WIDTH, DPI = 7.5, 170  # inches; pixels of an inch
MARGIN = 1.5  # units of ground around it
GREY, BLUE, ORANGE, GREEN, RED = "#d0d5dd", "#9ecbee", "#f7c873", "#8fd6b4", "#f2a391"


class Board:
    """100 units wide, `height` units high; y grows upwards."""

    def __init__(self, height: float) -> None:
        size = WIDTH, WIDTH * (height + 2 * MARGIN) / (100 + 2 * MARGIN)
        self.figure = Figure(figsize=size, facecolor="white", dpi=DPI)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(-MARGIN, 100 + MARGIN), ylim=(-MARGIN, height + MARGIN))
        self.axes.axis("off")

    def box(
        self, x: float, y: float, width: float, height: float, text: str = "", color: str = GREY
    ) -> None:
        """A box with its lower left corner at (x, y)."""
        self.axes.add_patch(
            Rectangle((x, y), width, height, facecolor=color, edgecolor=INK, lw=0.8)
        )
        self.words(x + width / 2, y + height / 2, text, ha="center")

    def frame(self, x: float, y: float, width: float, height: float, text: str) -> None:
        """A round frame with its title on top."""
        style = "round,pad=0,rounding_size=1.5"
        look = {"facecolor": "none", "edgecolor": INK, "lw": 1}
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, style, **look))
        self.words(x + width / 2, y + height + 2, text, ha="center", weight="bold")

    def words(
        self,
        x: float,
        y: float,
        text: str,
        ha: str = "left",
        size: float = 10,
        weight: str = "normal",
    ) -> None:
        """Words, in the middle of the line at y."""
        look = {"size": size, "weight": weight, "color": INK, "path_effects": OUTLINES}
        self.axes.text(x, y, text, ha=ha, va="center", **look)

    def arrow(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """An arrow from (x, y)."""
        line = {"arrowstyle": "-|>", "color": INK, "lw": 1.2}
        self.axes.annotate("", (to_x, to_y), (x, y), arrowprops=line)

    def save(self, path: Path) -> None:
        """Write it as PNG: JupyterLab shows no SVG that is attached to a cell."""
        path.parent.mkdir(exist_ok=True)
        with rc_context({"font.family": "DejaVu Sans"}):
            FigureCanvasAgg(self.figure).print_png(path, metadata={"Software": None})
