"""Small changes of a definition: a statement left out, or a slip in one of its expressions."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from labkit.checks.names import MAGIC, bound_names, text_of


@dataclass(frozen=True, slots=True)
class Change:
    """A definition with one statement left out, or with one of its lines changed.

    line: its place in the cell, from 1. text: the statement as it is written. instead: the changed
    line, "" if the statement is left out. definition: what remains, ready to run. says_itself:
    whether a reader of the change sees at once what it breaks. slip: the expression, and its slip.
    """

    line: int
    text: str
    instead: str
    definition: str
    says_itself: bool = False
    slip: tuple[str, ...] = ()


def definition_in(cells: Sequence[str], name: str) -> str:
    """The newest of these cells that defines a function or class of this name; "" if none does."""
    for source in reversed(cells):
        if name in bound_names(source) and _definition(source, name) is not None:
            return source
    return ""


_BORDER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def slip_in(node: ast.expr) -> str:
    """The text of an expression with a slip; "" if it has none."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return text_of(ast.Constant(value + 1))
        case ast.Compare(left, [operator], right) if type(operator) in _BORDER:
            return text_of(ast.Compare(left, [_BORDER[type(operator)]()], right))
        case ast.BinOp(left, ast.Add() | ast.Sub(), ast.Constant(value=int())):
            return text_of(left)
        case ast.BinOp(left, ast.Mult(), right):
            return max(text_of(left), text_of(right), key=len)
        case ast.BinOp(left, ast.Sub(), right):
            return text_of(ast.BinOp(right, ast.Sub(), left))
    return ""


def changes_of(source: str, name: str, slip: Callable[[ast.expr], str] = slip_in) -> list[Change]:
    """Every small change of the definition of `name` in a cell, in the order of its lines.

    A statement is left out, or has a slip. Docstrings, messages and statements that share a line
    with others stay.
    """
    found = _definition(source, name)
    if found is None:
        return []
    lines, changes = _alone(source, found), []
    for statement in statements_of(found):
        for start, end, text, instead, *words in _edits(statement, lines, slip):
            same_lines = [""] * (end - start - 1)  # so errors name the lines of the cell
            kept = [*lines[:start], instead, *same_lines, *lines[end:]]
            shown = "" if instead.strip() == "pass" else instead.strip()
            plain = _says_itself(statement, is_cut=not shown)
            changes.append(Change(start + 1, text, shown, "\n".join(kept), plain, tuple(words)))
    return changes


def left_out(change: Change) -> str:
    """A sentence that says what a change does, with all lines that it leaves out."""
    if change.instead:
        return f"Line {change.line} is changed."
    last = change.line + change.text.count("\n")
    if last == change.line:
        return f"Line {last} is replaced by `pass`."
    joint = "and" if last == change.line + 1 else "to"
    return f"Lines {change.line} {joint} {last} are replaced by `pass`."


def _says_itself(statement: ast.stmt, is_cut: bool) -> bool:
    """Whether it is about an exception alone, or is cut and returns what nothing else does."""
    last = statement.body[-1] if isinstance(statement, ast.If) else statement
    kinds = ast.Raise | ast.Return if is_cut else ast.Raise
    has_more = isinstance(statement, ast.If) and statement.orelse
    return not has_more and isinstance(last, kinds)


def unchanged(source: str, name: str) -> str:
    """The definition of `name` as the cell has it; "" if it has none."""
    return "\n".join(read_definition(source, name)[1])


def read_definition(
    source: str, name: str
) -> tuple[ast.FunctionDef | ast.ClassDef | None, list[str]]:
    """The definition of `name` in a cell and its lines, empty where other code stands."""
    found = _definition(source, name)
    return (found, _alone(source, found)) if found else (None, [])


def _alone(source: str, found: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """The lines of a cell up to the end of a definition, empty where other code stands."""
    first = min([found.lineno, *(each.lineno for each in found.decorator_list)]) - 1
    return [""] * first + _plain(source).splitlines()[first : found.end_lineno]


def _plain(source: str) -> str:
    return MAGIC.sub(r"\1pass", source)


def _definition(source: str, name: str) -> ast.FunctionDef | ast.ClassDef | None:
    try:
        body = ast.parse(_plain(source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = ast.FunctionDef | ast.ClassDef
    found = [each for each in body if isinstance(each, kinds) and each.name == name]
    return found[-1] if found else None


def statements_of(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements inside the functions of a definition, outer ones first."""
    is_function = isinstance(node, ast.FunctionDef)
    for i, each in enumerate(inner_statements(node)):
        is_code = not isinstance(each, ast.FunctionDef | ast.ClassDef | ast.Pass)
        is_docstring = is_function and i == 0 and isinstance(each, ast.Expr | ast.Constant)
        if is_code and not is_docstring and not isinstance(node, ast.ClassDef):
            yield each
        yield from statements_of(each)


def _edits(statement: ast.stmt, lines: Sequence[str], slip: Callable) -> Iterator[tuple]:
    """(first line, line after the last, text, instead) of each edit, then the words of a slip."""
    start, end = statement.lineno - 1, statement.end_lineno or statement.lineno
    indent = lines[start].encode()[: statement.col_offset].decode()
    after = lines[end - 1].encode()[statement.end_col_offset :].decode().strip(" ;")
    is_alone = not indent.strip() and (not after or after.startswith("#"))
    if is_alone:
        yield start, end, dedent("\n".join(lines[start:end])), f"{indent}pass"
    if isinstance(statement, ast.Raise):
        return
    for node in _own_expressions(statement):
        if (other := slip(node)) and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()  # columns count bytes
            before, after = line[: node.col_offset].decode(), line[node.end_col_offset :].decode()
            old = line[node.col_offset : node.end_col_offset].decode()
            instead, text = f"{before}{other}{after}", lines[node.lineno - 1].strip()
            yield node.lineno - 1, node.lineno, text, instead, old, other


def _own_expressions(statement: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement, without those in its blocks and in texts."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(statement, ast.BinOp) and isinstance(child, ast.Constant):
            continue  # it is forgotten rather than one off
        if isinstance(child, ast.expr | ast.keyword | ast.Slice | ast.comprehension):
            if isinstance(child, ast.expr) and not isinstance(child, ast.JoinedStr):
                yield child
            if not isinstance(child, ast.JoinedStr):
                yield from _own_expressions(child)


def inner_statements(node: ast.AST) -> list[ast.stmt]:
    """The statements of a statement's blocks."""
    parts = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    parts += [handler.body for handler in getattr(node, "handlers", [])]
    return [each for part in parts if isinstance(part, list) for each in part]
