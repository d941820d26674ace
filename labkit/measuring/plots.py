"""The figures of the labs, in one style: each function takes numbers or functions, and returns one.

Figures are closed before they are returned, so that a notebook shows each of them once. It shows
them with a caption and with alternative text; on a dark page their ground is dark, too.
"""

import io
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from PIL import Image

GROUND, INK = "#e4e7eb", "#222222"
STYLE = {
    "figure.dpi": 110,
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "savefig.facecolor": GROUND,
    "text.color": INK,
    "axes.labelcolor": INK,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8a8a",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#cfd4da",
    "grid.linewidth": 0.8,
    "xtick.color": "#4d4d4d",
    "ytick.color": "#4d4d4d",
    "xtick.labelsize": "small",
    "ytick.labelsize": "small",
    "lines.linewidth": 2.0,
    "legend.frameon": False,
}
# One colour has one meaning in all labs. They are Okabe and Ito's, which every kind of colour
# vision tells apart, some of them darker: each has a contrast of 3 or more on the ground.
COLORS = {
    "weights": "#0072b2",  # the model: its weights, its passes, prefill, the target, loads
    "cache": "#b87100",  # the KV cache: with a cache, decode
    "plain": "#4d4d4d",  # the usual way: without a cache, eager, the target alone, standard
    "method": "#007a59",  # the faster way: captured steps, tiles, what was accepted
    "other": "#b5568c",  # what stands beside: the draft, stores, transfers, a smaller model
    "residual": "#6a51a3",
    "too much": "#c8102e",  # also: impossible, rejected, break-even
    "reference": "#6e6e6e",  # predicted, counted, given by a data sheet
    "free": "#cbd1d8",
}
GB = 10**9
PIXELS = 100  # of a notebook's page, for an inch of a figure
SHARPNESS = 2  # pixels of a picture for each of the page
N_COLORS = 128
# On a dark page, a picture is shown negative, with its hues. Pages of JupyterLab and nbconvert, of
# VS Code and of Colab say in these ways that they are dark; elsewhere a picture stays as it is.
DARK_PAGES = ('body[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"]')
NEGATIVE = "invert(1) hue-rotate(180deg)"
_LOOK = f"<style>:is({', '.join(DARK_PAGES)}) .labkit-picture {{ filter: {NEGATIVE} }}</style>"
PALE = (
    "position:absolute;inset:0;width:100%;height:100%;opacity:.3;mix-blend-mode:darken;"
    "pointer-events:none"
)
_STRIP = "const box = this.parentNode.nextElementSibling, wide = box.clientWidth"
_BUTTONS = {  # what each does in the page, without a kernel
    "\N{LEFTWARDS ARROW} back": f"{_STRIP}; box.scrollLeft -= wide",
    "next \N{RIGHTWARDS ARROW}": f"{_STRIP}; box.scrollLeft += wide",
    "play": f"{_STRIP}; clearInterval(box.timer); box.scrollLeft = 0; "
    "box.timer = setInterval(() => { const left = box.scrollLeft; box.scrollLeft += wide; "
    "if (!wide || box.scrollLeft === left) clearInterval(box.timer) }, 900)",
}


class CourseFigure(Figure):
    """A figure as a notebook shows it: a picture with alternative text, above its caption."""

    caption = ""
    when_enlarged: tuple[Callable[[float], None], ...] = ()  # each takes the least points

    @property
    def alt(self) -> str:
        """The figure in words: its title, and each pair of axes with the names of its lines."""
        panels = [_in_words(axes) for axes in self.axes if axes.get_visible()]
        return ". ".join(filter(None, [self.get_suptitle(), *panels])).replace("\n", " ")

    def html(self, png: bytes, ghost: bytes = b"") -> str:
        """The figure as HTML, with this picture of it; no script, and colours of the theme.

        ghost: a picture of the same size that lies pale over it.
        """
        width = round(PIXELS * self.get_size_inches()[0])
        look = f"width:{width}px;max-width:100%;height:auto;border-radius:6px;display:block"
        images = _image(png, self.alt, look) + (_image(ghost, "", PALE) if ghost else "")
        picture = f'<div class="labkit-picture" style="position:relative">{images}</div>{_LOOK}'
        words = f"{self.caption} {'Pale: the choice before.' if ghost else ''}".strip()
        caption = f"<figcaption>{escape(words)}</figcaption>" if words else ""
        return f'<figure style="margin:.4em 0;max-width:{width}px">{picture}{caption}</figure>'

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        png = png_bytes(self)
        data = {
            "text/html": self.html(png),
            "image/png": b64encode(png).decode(),
            "text/plain": f"{self.alt}. {self.caption}".strip(),
        }
        return data, {"image/png": {"width": round(PIXELS * self.get_size_inches()[0])}}


Drawing = Callable[[], CourseFigure]


@contextmanager
def course_style(**settings: Any) -> Iterator[None]:
    """Draw the figures inside in the style of the course; matplotlib's settings do not change."""
    with plt.rc_context(STYLE | settings):
        yield


def png_bytes(figure: Figure, sharpness: int = SHARPNESS) -> bytes:
    """A figure as the bytes of a PNG file, sharp enough for a screen with small pixels.

    It has few colours, which makes a file of half the size.
    """
    drawn, small, dpi = io.BytesIO(), io.BytesIO(), sharpness * PIXELS
    figure.savefig(drawn, format="rgba", dpi=dpi)
    size = [int(inches * dpi) for inches in figure.get_size_inches()]
    few = {"method": Image.Quantize.FASTOCTREE, "dither": Image.Dither.NONE}
    picture = Image.frombytes("RGBA", size, drawn.getvalue()).convert("RGB")
    picture.quantize(N_COLORS, **few).save(small, "PNG")
    return small.getvalue()


def ghost_bytes(earlier: CourseFigure, now: CourseFigure) -> bytes:
    """What an earlier figure drew, as the bytes of a PNG file: no words, no axes.

    Both have been drawn. Axes whose place or limits are not those of `now` are left out, because
    they cannot be compared. Returns b"" if that is all of them. The earlier figure is used up.
    """
    if len(earlier.axes) != len(now.axes):
        return b""
    earlier.set_layout_engine("none")  # all stays where it was
    for old, new in zip(earlier.axes, now.axes, strict=True):
        old.set_visible(old.get_visible() and _frame(old) == _frame(new))
        old.set_axis_off()
    for words in earlier.findobj(lambda part: isinstance(part, Text | Legend)):
        words.set_visible(False)
    has_axes = any(axes.get_visible() for axes in earlier.axes)
    return png_bytes(earlier, sharpness=1) if has_axes else b""


def strip_html(figures: Sequence[CourseFigure], sharpness: int = 1) -> str:
    """Figures one beside the other as HTML: buttons play them or go from one to the next.

    Where a page runs no scripts, the figures scroll. One figure alone has no buttons.
    """
    if len(figures) == 1:
        return figures[0].html(png_bytes(figures[0], sharpness))
    look = "flex:0 0 100%;min-width:0;scroll-snap-align:start"
    shown = [
        f'<div style="{look}">{figure.html(png_bytes(figure, sharpness))}</div>'
        for figure in figures
    ]
    width = round(PIXELS * max(figure.get_size_inches()[0] for figure in figures))
    box = f"display:flex;overflow-x:auto;scroll-snap-type:x mandatory;max-width:{width}px"
    buttons = "".join(
        f'<button type="button" onclick="{escape(script)}">{label}</button> '
        for label, script in _BUTTONS.items()
    )
    box += ";color:inherit;text-decoration:none"
    # A link to nowhere: in notebooks without trust, JupyterLab keeps no other element's tabindex.
    return f'<div><div>{buttons}</div><a tabindex="0" style="{box}">{"".join(shown)}</a></div>'


def save(drawings: Mapping[str, Drawing], out: str | Path) -> list[Path]:
    """Draw figures into a folder, by their names; returns the files."""
    files = {Path(out) / f"{name}.png": draw for name, draw in drawings.items()}
    for path, draw in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png_bytes(draw()))
    return list(files)


def _image(png: bytes, alt: str, look: str) -> str:
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return f'<img alt="{escape(alt)}" style="{look}" src="{source}">'


def _frame(axes: Axes) -> tuple:
    """The place of axes in the figure, and their ranges."""
    ends = *axes.get_position().bounds, *axes.get_xlim(), *axes.get_ylim()
    return tuple(f"{end:.6g}" for end in ends)


def _in_words(axes: Axes) -> str:
    """ "seconds by new tokens: without cache, with cache"."""
    title = axes.get_title(loc="left") or axes.get_title()
    what = [label for label in (axes.get_ylabel(), axes.get_xlabel()) if label]
    names = [label for label in axes.get_legend_handles_labels()[1] if label]
    words = ", ".join(filter(None, [title, " by ".join(what)]))
    return ": ".join(filter(None, [words, ", ".join(dict.fromkeys(names))]))
