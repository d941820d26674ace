"""A node of eight cards: prices per card-hour, and rates that others have measured."""

from labkit.measuring.tables import Table, Tables
from labkit.models.facts import prices


def tokens_per_s(n_users: int) -> float:
    """Output tokens per second of the measured node with so many users at the same time."""
    node = prices()["node"]
    [rate] = [row for row in node["rows"] if row["n_users"] == n_users]
    return rate["output_tokens_per_s_and_card"] * node["n_cards"]


def tables() -> Tables:
    """What the node was measured to generate, and what its cards cost."""
    return Tables([rates_table(), prices_table()])


def rates_table() -> Table:
    """What the measured node generated, by the number of users, and what one user sees."""
    node = prices()["node"]
    rows = [
        [row["n_users"], f"{tokens_per_s(row['n_users']):,.0f}", row["tpot_ms"]]
        for row in node["rows"]
    ]
    names = ["users at once", "output tokens/s of the node", "TPOT in ms"]
    about = (
        f"{node['model']}, {node['weights']}, {node['n_cards']} x {node['card']}, "
        f"{node['engine']}, {node['n_input']} tokens in, {node['n_output']} out, {node['date']}"
    )
    return Table(names, rows, about)


def prices_table() -> Table:
    """The lowest and the highest price per hour of each card."""
    rows = [
        [card, *(f"{price:.2f}" for price in known["usd_per_hour"]), known["date"]]
        for card, known in prices()["cards"].items()
    ]
    return Table(["card", "lowest", "highest", "date"], rows, "dollars per card and hour")
