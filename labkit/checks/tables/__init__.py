"""Checks of pure functions as tables: `CallTable`, its `Claim`s, and their rows."""

from labkit.checks.tables.calls import Argument, Call, Made, Row, call, made
from labkit.checks.tables.table import CallTable, Claim, Slips

__all__ = ["Argument", "Call", "CallTable", "Claim", "Made", "Row", "Slips", "call", "made"]
