"""What a cell binds and what it uses, without running it."""

import re
import symtable

MAGIC = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)  # \s would go over all blank lines


def bound_names(source: str) -> set[str]:
    """The global names that a cell binds, in loops and `with` too; none if it does not parse."""
    tables = _tables(source)
    symbols = tables[0].get_symbols() if tables else []
    return {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}


def used_names(source: str) -> set[str]:
    """The global names that a cell reads, in functions too; none if it does not parse."""
    return {
        symbol.get_name()
        for table in _tables(source)
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (table.get_type() == "module" or symbol.is_global())
    }


def _tables(source: str) -> list[symtable.SymbolTable]:
    """The cell's own table first, then those of its functions and classes."""
    try:
        tables = [symtable.symtable(MAGIC.sub(r"\1pass", source), "<cell>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    for table in tables:  # grows while we go
        tables += table.get_children()
    return tables
