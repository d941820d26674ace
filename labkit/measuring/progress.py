"""A bar with the time that is left, for what takes more than a few seconds."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def with_time_left(steps: Sequence[T], title: str, unit: str) -> Iterable[T]:
    """The steps, with a bar that shows how much time is left while one goes through them."""
    from tqdm.auto import tqdm  # brings ipywidgets

    tqdm.monitor_interval = 0  # a process with its thread could not be forked for a check
    return tqdm(steps, title, unit=unit, leave=False)
