"""Right answers, written differently: each earns everything."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """A right answer that is not the reference's; `source` is the whole cell."""

    exercise: str
    title: str
    source: str
