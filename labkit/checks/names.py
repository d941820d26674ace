"""What a cell binds and what it uses, without running it."""

import ast
import re
import symtable
from functools import lru_cache

DEFINITION = re.compile(r"^(?:async\s+def|def|class)\s+(\w+)|^(\w+)\s*=", re.MULTILINE)
# Spaces and tabs alone: \s would go over all blank lines, and again from each of them.
# A line may also begin with an operator, `% 2` or `!= 2`, in brackets.
MAGIC = re.compile(r"^([ \t]*)(?:%[%\w]|!(?!=)).*$", re.MULTILINE)


@lru_cache(maxsize=256)
def bound_names(source: str) -> frozenset[str]:
    """The global names that a cell binds, in loops and `with` too; by pattern if it does not parse.

    Whether it binds them when it runs is another matter: a condition may be false.
    """
    tables = _tables(source)
    if not tables:
        return frozenset(name for pair in DEFINITION.findall(source) for name in pair if name)
    symbols = tables[0].get_symbols()
    return frozenset(
        each.get_name() for each in symbols if each.is_assigned() or each.is_imported()
    )


def bound_from(source: str, line: int) -> frozenset[str]:
    """The names that a cell binds in the statement of this line or later, and not before it."""
    text = MAGIC.sub(r"\1pass", source)
    try:
        ends = [statement.end_lineno for statement in ast.parse(text).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return bound_names(source)
    n_done = max((end for end in ends if end < line), default=0)
    return bound_names(source) - bound_names("\n".join(text.splitlines()[:n_done]))


def used_names(source: str) -> set[str]:
    """The global names that a cell reads, in functions too; none if it does not parse."""
    return {
        symbol.get_name()
        for table in _tables(source)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global())
    }


def text_of(node: ast.expr) -> str:
    """The text of an expression; "" if it has more parts or digits than Python can write."""
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return ""


def _tables(source: str) -> list[symtable.SymbolTable]:
    """The cell's own table first, then those of its functions and classes."""
    try:
        tables = [symtable.symtable(MAGIC.sub(r"\1pass", source), "<cell>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    for table in tables:  # grows while we go
        tables += table.get_children()
    return tables
