"""Checks of pure functions as tables: `Table`, its `Claim`s, and their rows."""

from labkit.checks.tables.calls import Argument, Call, Made, Row, call, made
from labkit.checks.tables.table import Claim, Slips, Table

__all__ = ["Argument", "Call", "Claim", "Made", "Row", "Slips", "Table", "call", "made"]
