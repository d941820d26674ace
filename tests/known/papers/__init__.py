"""Lab 8: known wrong and right answers, and all items that a term may have."""

from autograder.labs.papers.key import FOLDER, Key, read_key
from autograder.labs.papers.rotation import rotating_names
from labkit.labs.papers.items import Item, items, rotating_item


def every_item() -> dict[str, Item]:
    """By name: the items of this term, and those that may take the place of one."""
    found = {item.name: item for item in items().values()}
    return found | {n: rotating_item(n, "q10") for n in rotating_names() if n not in found}


def every_key() -> dict[str, Key]:
    """The keys of all these items, by name."""
    return {name: read_key(item, FOLDER) for name, item in every_item().items()}
