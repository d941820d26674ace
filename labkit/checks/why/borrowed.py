"""Answers that use what an experiment leaves: not every experiment runs when they are marked."""

from collections.abc import Collection, Sequence

from labkit.checks.core import Wrong
from labkit.checks.names import bound_names, used_names


def borrowed_name(
    ran: Sequence[str], exercise: str, experiments: Collection[frozenset[str]]
) -> str:
    """The name of an experiment that this exercise's cell reads; "" if there is none.

    ran: the code of this session, cell by cell; the last version of the cell counts. experiments:
    the names that each binds. A cell of the student's own that binds the name makes it the
    student's own; a cell that binds all names of an experiment is that experiment.
    """
    cell = next((source for source in reversed(ran) if exercise in bound_names(source)), "")
    cells = map(bound_names, ran)
    own = [names for names in cells if not any(each <= names for each in experiments)]
    known = frozenset().union(*experiments) - bound_names(cell) - frozenset().union(*own)
    return min(used_names(cell) & known, default="")


def borrowed(name: str) -> Wrong:
    """The message about such a cell, in the notebook and by the grader."""
    return Wrong(
        f"`{name}` comes from an experiment",
        why="Type its value here: this cell must not depend on experiments.",
    )
