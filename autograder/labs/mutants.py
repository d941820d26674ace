"""Known wrong answers, each with the checks that must catch it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A wrong answer that real students give.

    Either `old` becomes `new` in the solved cell, where it stands exactly once, or `source` is the
    whole cell. caught_by: exactly the checks that fail.
    """

    exercise: str
    title: str
    caught_by: tuple[str, ...]
    old: str = ""
    new: str = ""
    source: str = ""

    def cell(self, solved: str) -> str:
        """The cell's text, made from the solved one. Raises ValueError if `old` is not unique."""
        if self.source:
            return self.source
        if solved.count(self.old) != 1 or not self.old:
            raise ValueError(
                f"mutant {self.title!r} of {self.exercise}: {self.old!r} stands "
                f"{solved.count(self.old)} times in the answer, not once"
            )
        return solved.replace(self.old, self.new)
