"""Small changes of a definition: a statement left out, or a slip in one of its expressions."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent

from labkit.checks.names import MAGIC, bound_names, text_of


@dataclass(frozen=True, slots=True)
class Change:
    """A definition with one statement left out, or with one of its lines changed.

    line: its place in the cell, from 1. text: the statement as it is written. instead: the changed
    line, "" if the statement is left out. definition: what remains, ready to run. says_itself:
    whether a reader of the change sees at once what it breaks. old, new: the changed expression.
    """

    line: int
    text: str
    instead: str
    definition: str
    says_itself: bool = False
    old: str = ""
    new: str = ""


def definition_in(cells: Sequence[str], name: str) -> str:
    """The newest of these cells that defines a function or class of this name; "" if none does."""
    for source in reversed(cells):
        if name in bound_names(source) and _definition(source, name) is not None:
            return source
    return ""


def changes_of(source: str, name: str) -> list[Change]:
    """Every small change of the definition of `name` in a cell, in the order of its lines.

    A statement is left out, or there is a slip: a border, a number one off, the next axis, a factor
    or a one forgotten, a difference turned round, another variable of the same kind. Docstrings,
    messages and statements that share a line with others stay.
    """
    found = _definition(source, name)
    if found is None:
        return []
    lines, changes = _alone(source, found), []
    others = {each: names for function in ast.walk(found) if isinstance(function, ast.FunctionDef)
              for names in [_same_kind(function)] for each in ast.walk(function)}  # fmt: skip
    for statement in statements_of(found):
        kinds = others.get(statement, {})
        for start, end, text, instead, *words in _edits(statement, lines, kinds):
            same_lines = [""] * (end - start - 1)  # so errors name the lines of the cell
            kept = [*lines[:start], instead, *same_lines, *lines[end:]]
            shown = "" if instead.strip() == "pass" else instead.strip()
            plain = _says_itself(statement, is_cut=not shown)
            changes.append(Change(start + 1, text, shown, "\n".join(kept), plain, *words))
    return changes


def left_out(change: Change) -> str:
    """A sentence that says what a change does, with all lines that it leaves out."""
    if change.instead:
        return f"Line {change.line} is changed."
    last = change.line + change.text.count("\n")
    if last == change.line:
        return f"Line {last} is left out: `pass` stands there."
    joint = "and" if last == change.line + 1 else "to"
    return f"Lines {change.line} {joint} {last} are left out: `pass` stands there."


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


def _edits(statement: ast.stmt, lines: Sequence[str], others: Mapping[str, str]) -> Iterator[tuple]:
    """(first line, line after the last, text, instead) for each edit of a statement; of a slip,
    the expression and its slip, too.
    """
    start, end = statement.lineno - 1, statement.end_lineno or statement.lineno
    indent = lines[start].encode()[: statement.col_offset].decode()
    after = lines[end - 1].encode()[statement.end_col_offset :].decode().strip(" ;")
    is_alone = not indent.strip() and (not after or after.startswith("#"))
    if is_alone:
        yield start, end, dedent("\n".join(lines[start:end])), f"{indent}pass"
    if isinstance(statement, ast.Raise):
        return
    for node in _own_expressions(statement):
        if (other := _slip(node, others)) and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()  # columns count bytes
            before, after = line[: node.col_offset].decode(), line[node.end_col_offset :].decode()
            old = line[node.col_offset : node.end_col_offset].decode()
            instead, text = f"{before}{other}{after}", lines[node.lineno - 1].strip()
            if isinstance(node, ast.Constant):  # with what it is an index or argument of
                head = re.search(r"([\w.]+\[|\b\w+=)?-?$", before)[0]
                tail = "]" * ("[" in head and after[:1] == "]")
                old, other = f"{head}{old}{tail}", f"{head}{other}{tail}"
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


_BORDER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


def _slip(node: ast.expr, others: Mapping[str, str]) -> str:
    """The text of an expression with a slip; "" if it has none."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return text_of(ast.Constant(value + 1))
        case ast.Compare(left, [operator], right) if type(operator) in _BORDER:
            return text_of(ast.Compare(left, [_BORDER[type(operator)]()], right))
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult(), ast.Constant(value=int())):
            return text_of(left)
        case ast.BinOp(ast.Constant(value=int()), ast.Add() | ast.Mult(), right):
            return text_of(right)
        case ast.BinOp(left, ast.Mult(), right):
            return max(text_of(left), text_of(right), key=len)
        case ast.BinOp(left, ast.Sub(), right):
            return text_of(ast.BinOp(right, ast.Sub(), left))
        case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()):
            return others.get(text_of(node), "")
    return ""


def _same_kind(function: ast.FunctionDef) -> dict[str, str]:
    """For a variable or an attribute the next one of its kind: they share a word, or an annotation,
    or both have one letter.
    """
    kinds: dict[str, set[str]] = {}
    called = {each.func for each in ast.walk(function) if isinstance(each, ast.Call)}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            kinds[node.arg] = {text_of(node.annotation) if node.annotation else "-"}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            kinds.setdefault(node.id, set())
    own = {*kinds}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node not in called and text_of(node.value) in own:
            kinds[text_of(node)] = set()
    for name in kinds:
        kinds[name] |= _words(name)
    found, names = {}, [*kinds]
    for i, name in enumerate(names):
        after = [*names[i + 1 :], *names[:i]]
        found[name] = next((each for each in after if kinds[name] & kinds[each]), "")
    return found


def _words(name: str) -> set[str]:
    """What the kind of a name is told by; that of an attribute has its object in it."""
    base, dot, last = name.rpartition(".")
    words = {""} if len(last) == 1 else {*last.strip("_").split("_")}
    return {f"{base}{dot}{word}" for word in words}


def inner_statements(node: ast.AST) -> list[ast.stmt]:
    """The statements of a statement's blocks."""
    parts = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    parts += [handler.body for handler in getattr(node, "handlers", [])]
    return [each for part in parts if isinstance(part, list) for each in part]
