"""One set of checks per answer, made from the items.

Letters earn the right ones less the wrong ones, in the steps that such a difference can have; an
order earns each of its steps that is directly followed by the right one; numbers count alike.
"""

from collections.abc import Iterator

from labkit.checks.core import check
from labkit.labs.papers.checks.marks import ItemCase, Play, has_at_least, has_in_a_row, has_number
from labkit.labs.papers.items import INSTEAD, Item, items

STEP_HINT = "Read the part of the paper that is named below the title, and all options."
ORDER_HINT = "Read the algorithm in the paper. For each step, look which results it needs."
AUDIT_HINT = "Compute each number in bold from what the question gives."
NUMBER_HINT = "Check what the question counts, and in which unit. Use your own values."
ALL_RIGHT = {1: "The right option is chosen.", 2: "Both right options are chosen."}


def _plays_of(item: Item) -> Iterator[Play]:
    """The checks of an item's answers, each marked with the answer that it belongs to."""
    if item.kind == "order":
        yield from _order_checks(item)
    else:
        yield from _choice_checks(item)
    for field in item.numbers.fields if item.numbers else ():
        claim = f"`{field}` is right for your own values."
        if field == INSTEAD:
            claim = "`instead` is the number that belongs in the false sentence."
        yield _named(has_number(field), item.answers[1], field, claim, NUMBER_HINT)


def _choice_checks(item: Item) -> Iterator[Play]:
    """One check for each positive difference of right and wrong letters that can come about."""
    if item.kind == "audit":
        claim = "The false sentence is named."
        yield _named(has_at_least(1), item.id, "all_right", claim, AUDIT_HINT)
        return
    n = item.n_right
    before = 0
    for difference in range(n % 2 or 2, n + 1, 2):
        n_right = (n + difference) // 2
        claim = f"At least {n_right} of the {n} right options are chosen."
        if n_right == n:
            claim = ALL_RIGHT.get(n, f"All {n} right options are chosen.")
        name = "all_right" if n_right == n else f"{n_right}_right"
        weight = difference - before
        yield _named(has_at_least(n_right), item.id, name, claim, STEP_HINT, weight)
        before = difference


def _order_checks(item: Item) -> Iterator[Play]:
    for place in range(item.n_letters - 1):
        claim = f"Step {place + 1} of the right order is directly followed by step {place + 2}."
        name = f"step_{place + 1}_then_{place + 2}"
        yield _named(has_in_a_row(place), item.id, name, claim, ORDER_HINT)


def _named(play: Play, answer: str, name: str, claim: str, hint: str, weight: float = 1) -> Play:
    play.__module__, play.__name__, play.__doc__ = __name__, f"{answer}_{name}", claim
    return check(answer, hint=hint, weight=weight)(play)


for _item in items().values():
    globals().update({play.__name__: play for play in _plays_of(_item)})

OPEN_CASES = {answer: [ItemCase(answer)] for item in items().values() for answer in item.answers}
