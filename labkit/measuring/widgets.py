"""One player for all widgets: controls, what they play, and the picture of a moment of it.

A widget needs ipywidgets; without it, it says so and shows something else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.measuring.plots import CourseFigure, ghost_bytes, png_bytes, strip_html

N_SHOWN = 12  # moments that viewers without widgets get
READOUT_CHARS = 8  # a slider shows no more of its value


def has_widgets(instead: str) -> bool:
    """Whether ipywidgets is here; if not, it prints what comes instead."""
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        print(f"(ipywidgets is not installed: {instead}.")
        print("To get it, run %pip install ipywidgets, restart the kernel and reload the page.)")
        return False
    return True


@dataclass(frozen=True, slots=True)
class Control:
    """One choice. options: of a menu or a slider; True or False if there are none.

    name: the argument it becomes. is_late: of the picture alone; nothing is played again.
    """

    name: str
    label: str
    value: Any
    options: Sequence[Any] | Mapping[str, Any] = ()
    is_menu: bool = False
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Frames:
    """A button that goes through the moments of what is played, and a slider for them.

    count: the last moment of what was played. start: the moment it opens at. is_whole: it opens at
    the last one, and the slider stays where it is when something else is played.
    """

    label: str
    count: Callable[[Any], int]
    interval_ms: int
    is_whole: bool = False
    start: Callable[[Any], int] = lambda played: 0


def player(
    columns: Iterable[Sequence[Control | Frames]],
    play: Callable[..., Any],
    picture: Callable[..., CourseFigure],
    still: Callable[[Any], CourseFigure] | None = None,
    label_em: int = 9,
    width_em: int = 26,
) -> Any:
    """A box with columns of controls above a picture, for a notebook.

    play: what the controls choose, by name. picture: of what it gives, with the late choices by
    name, and with the number of the moment as `moment` if there are `Frames`. A picture of a whole
    run shows the one before it, pale. still: the picture for viewers that know no widgets; that of
    now by default. They also get some moments to play: a saved notebook is alive, too. The box has
    them as `moments()`; without `Frames` that is the picture of now, and the box also has its
    `controls` and `draw(**chosen)`, the picture of any choice.
    """
    import ipywidgets

    width = {"width": f"{width_em}em", "max_width": "100%"}
    look = {"style": {"description_width": f"{label_em}em"}, "layout": width}
    image = ipywidgets.HTML(layout={"max_width": "100%"})
    early, late, boxes, played, drawn, pages = {}, {}, [], [], [], {}
    given: list[Control] = []
    button = frames = None
    for column in columns:
        rows = []
        for each in column:
            if isinstance(each, Frames):
                frames, button = each, ipywidgets.Play(interval=each.interval_ms)
                late["moment"] = ipywidgets.IntSlider(
                    description=each.label, readout=not each.is_whole, **look
                )
                ipywidgets.jslink((button, "value"), (late["moment"], "value"))
                rows.append(ipywidgets.HBox([button, late["moment"]]))
            else:
                given.append(each)
                made = _made(each, look)
                (late if each.is_late else early)[each.name] = made
                rows.append(made)
        boxes.append(ipywidgets.VBox(rows))

    def now(**moment: int) -> CourseFigure:
        chosen = {name: control.value for name, control in late.items()}
        return picture(played[-1], **chosen | moment)

    def some_moments() -> list[CourseFigure]:
        if not frames:
            return [now()]
        last, first = frames.count(played[-1]), int(frames.is_whole)  # a run's first is empty
        shares = [(i + first) / (N_SHOWN - 1 + first) for i in range(N_SHOWN)]
        places = {round(last * share) for share in shares} if last else ()
        return [now(moment=place) for place in sorted(places)]

    def show(_: Any = None, before: CourseFigure | None = None) -> None:
        chosen = tuple(control.value for control in late.values())
        if chosen in pages:  # a moment that was drawn already: Play is smooth the second time
            drawn[:], image.value = [], pages[chosen]
            return
        drawn[:] = [figure := now()]
        png = png_bytes(figure)
        is_one = not frames or frames.is_whole  # a moment is compared with no other run's
        ghost = ghost_bytes(before, figure) if before and is_one else b""
        image.value = figure.html(png, ghost)
        if frames and late["moment"].value < button.max:  # the end is drawn again: it has a ghost
            pages[chosen] = figure.html(png)

    def play_again(_: Any = None) -> None:
        played[:] = [play(**{name: control.value for name, control in early.items()})]
        pages.clear()
        if frames:
            is_first = not image.value
            button.max = late["moment"].max = frames.count(played[-1])
            if is_first or not frames.is_whole:
                start = button.max if frames.is_whole else frames.start(played[-1])
                button.value = late["moment"].value = start
        show(before=drawn[-1] if drawn else None)

    play_again()
    for control in early.values():
        control.observe(play_again, names="value")
    for control in late.values():
        control.observe(show, names="value")
    taken = still(played[-1]) if still else None
    controls = ipywidgets.HBox(boxes, layout={"flex_flow": "row wrap"})  # on narrow pages too
    box = _with_still(lambda: taken or now(), some_moments)([controls, image])
    box.moments = some_moments
    box.controls = () if frames else tuple(given)

    def draw(**chosen: Any) -> CourseFigure:
        given_late = {name: chosen.pop(name) for name in late}
        return picture(play(**chosen), **given_late)

    box.draw = draw
    return box


def _made(control: Control, look: Mapping[str, Any]) -> Any:
    import ipywidgets

    given = {"value": control.value, "description": control.label, **look}
    if not control.options:
        return ipywidgets.Checkbox(**given)
    labels = [each[0] if isinstance(each, tuple) else each for each in control.options]
    if control.is_menu or max(len(str(label)) for label in labels) > READOUT_CHARS:
        return ipywidgets.Dropdown(options=control.options, **given)
    return ipywidgets.SelectionSlider(options=control.options, continuous_update=False, **given)


def _with_still(
    still: Callable[[], CourseFigure], moments: Callable[[], Sequence[CourseFigure]]
) -> type:
    """A box that takes pictures along, for viewers that know no widgets."""
    import ipywidgets

    class Player(ipywidgets.VBox):
        def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
            data, metadata = still()._repr_mimebundle_()
            if len(shown := moments()) > 1:
                summary = f"{len(shown)} moments: play them, or scroll to the right"
                data["text/html"] += (
                    f"<details><summary>{summary}</summary>{strip_html(shown)}</details>"
                )
            return super()._repr_mimebundle_(**kwargs) | data, metadata

    return Player
