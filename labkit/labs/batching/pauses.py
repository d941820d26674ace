"""The pauses between the tokens of an answer, as a reader notices them."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from labkit.labs.batching.log import Event, Run
from labkit.measuring.panels import WIDTH, panels, say
from labkit.measuring.plots import COLORS, CourseFigure

LOOKS = {  # one colour has one meaning in all labs
    "separate": {"color": COLORS["cache"]},
    "together": {"color": COLORS["plain"]},
    "chunked": {"color": COLORS["method"]},
}


def longest_pause_s(run: Run) -> float:
    """Seconds between two successive steps, for a request that is in both."""
    return max((b.end_s - a.end_s for a, b in _shared_steps(run)), default=0.0)


def draw_pauses(runs: Mapping[str, Run], around_s: float = 1.0) -> CourseFigure:
    """One answer by time, as each way of serving gives it; a flat part is a pause.

    runs: by "separate", "together" and "chunked"; of each it is an answer with the longest pause,
    with around_s seconds before and after it.
    """
    with panels(1, 1, (WIDTH, 3.6)) as (figure, ((axes,),)):
        for name, run in runs.items():
            before, after = max(_shared_steps(run), key=lambda pair: pair[1].end_s - pair[0].end_s)
            reader = max({*before.ids} & {*after.ids}, key=lambda i: _n_tokens_after(run, i, after))
            times_s = [event.end_s - before.end_s for event in _tokens(run, reader)]
            shown = [(t, i) for i, t in enumerate(times_s) if -around_s <= t <= around_s]
            first = sum(t <= 0 for t, _ in shown) + shown[0][1]
            x, y = zip(*((t, i - first) for t, i in shown), strict=True)
            axes.step(x, y, where="post", label=name, **LOOKS[name])
        axes.set(
            xlabel="seconds from the beginning of the longest pause",
            ylabel="tokens before and after",
            xlim=(-around_s, around_s),
        )
        axes.legend(loc="upper left")
        pauses = {name: f"{1e3 * longest_pause_s(run):,.0f} ms" for name, run in runs.items()}
        words = ", ".join(f"{pause} {name}" for name, pause in pauses.items())
        caption = "For each way, an answer with the longest pause. A flat part is a pause."
        return say(figure, f"The longest pause in an answer: {words}", caption=caption)


def _shared_steps(run: Run) -> Iterator[tuple[Event, Event]]:
    """Steps that follow each other and have a request in common."""
    steps = pairwise(run.events("decode"))
    return ((a, b) for a, b in steps if {*a.ids} & {*b.ids})


def _n_tokens_after(run: Run, request_id: int, event: Event) -> int:
    return sum(each.end_s > event.end_s for each in _tokens(run, request_id))


def _tokens(run: Run, request_id: int) -> Iterator[Event]:
    return (event for event in run.events("prefill", "decode") if request_id in event.ids)
