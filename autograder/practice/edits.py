"""Ways to change a notebook that several kinds of submission share."""

from autograder.practice import Edit, cell_called, insert


def add(code: str, after: str | None = None) -> Edit:
    """A solved notebook with this code somewhere in it."""
    return lambda notebook: insert(notebook, code, after=after)


def replace(code: str, *names: str) -> Edit:
    """A solved notebook with this code in the first of these cells, and nothing in the others."""

    def edit(notebook: dict) -> None:
        for name in names:
            cell_called(notebook, name)["source"] = code if name == names[0] else "pass"

    return edit


def rewrite(name: str, *changes: tuple[str, str]) -> Edit:
    """One cell of a solved notebook with pieces of its text replaced."""

    def edit(notebook: dict) -> None:
        cell = cell_called(notebook, name)
        for old, new in changes:
            assert old in cell["source"], f"{name} has no {old!r}"
            cell["source"] = cell["source"].replace(old, new)

    return edit
