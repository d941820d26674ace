"""Changes of a definition for an oral question: two lines swapped, or a stop after a line."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from labkit.checks.why.changes import inner_statements, read_definition, statements_of

MOST_LINES, MOST_CHARS = 400, 20_000  # of a definition that is asked about
SIMPLE = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Delete
STEPS = ast.BinOp | ast.Call | ast.BoolOp | ast.Compare | ast.IfExp | ast.comprehension
MARK = "after line {}"


@dataclass(frozen=True, slots=True)
class Swap:
    """A definition in which two neighbouring statements have changed places."""

    lines: tuple[int, int]
    definition: str


@dataclass(frozen=True, slots=True)
class Stop:
    """A definition that returns the value of a variable as soon as a line has run."""

    line: int
    text: str
    variable: str
    definition: str

    @property
    def mark(self) -> str:
        """What is returned beside the value: only this stop returns it."""
        return MARK.format(self.line)


def is_askable(source: str, name: str) -> bool:
    """Whether a cell's definition is short enough to print, and its lines are those of Python."""
    if len(source) > MOST_CHARS or [*source.splitlines()] != source.rstrip("\n").split("\n"):
        return False
    found, lines = read_definition(source, name)
    return found is not None and len(lines) - found.lineno < MOST_LINES


def swaps_of(source: str, name: str) -> list[Swap]:
    """Every swap of two simple statements of one line that follow each other in a block."""
    found, lines = read_definition(source, name)
    swaps = []
    for block in _blocks(found) if found else ():
        for one, other in pairwise(block):
            places = one.lineno - 1, other.lineno - 1
            if all(_is_alone(each, lines) for each in (one, other)):
                swapped = list(lines)
                swapped[places[0]], swapped[places[1]] = lines[places[1]], lines[places[0]]
                swaps.append(Swap((one.lineno, other.lineno), "\n".join(swapped)))
    return swaps


def stops_of(source: str, name: str) -> list[Stop]:
    """A stop after each assignment of a function to a variable, of more than one step.

    None in a function that calls itself: what stops there first is a call inside.
    """
    found, lines = read_definition(source, name)
    if not isinstance(found, ast.FunctionDef) or _yields(found) or _names(found, name):
        return []
    stops = []
    for statement in statements_of(found):
        variable = _assigned(statement)
        if not variable or not _is_in(statement, found) or _is_one_step(statement, found):
            continue
        line, end = statement.lineno, statement.end_lineno or statement.lineno
        indent = lines[line - 1].encode()[: statement.col_offset].decode()
        after = lines[end - 1].encode()[statement.end_col_offset :].decode().strip()
        if indent.strip() or (after and not after.startswith("#")):
            continue
        stop = f"{indent}return {MARK.format(line)!r}, {variable}"
        text = "\n".join(lines[line - 1 : end]).strip()
        definition = "\n".join([*lines[:end], stop, *lines[end:]])
        stops.append(Stop(line, text, variable, definition))
    return stops


def _blocks(node: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """The blocks of statements below a definition, those of a class itself left out."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, [])
        if isinstance(block, list) and block and not isinstance(node, ast.ClassDef):
            yield block
    for handler in getattr(node, "handlers", []):
        yield handler.body
    for each in inner_statements(node):
        yield from _blocks(each)


def _is_alone(statement: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether a simple statement, and no text alone, has one line for itself."""
    if not isinstance(statement, SIMPLE) or statement.lineno != statement.end_lineno:
        return False
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return False
    line = lines[statement.lineno - 1].encode()
    before, after = line[: statement.col_offset], line[statement.end_col_offset :].strip()
    return not before.strip() and (not after or after.startswith(b"#"))


def _assigned(statement: ast.stmt) -> str:
    """The variable that a statement gives a value, unless that is written there."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            return name
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            pass
        case _:
            return ""
    return "" if isinstance(value, ast.Constant | ast.Name | ast.Lambda) else name


def _is_one_step(statement: ast.stmt, function: ast.FunctionDef) -> bool:
    """Whether an assignment does one operation, on arguments alone, which a call shows."""
    steps = sum(isinstance(each, STEPS) for each in ast.walk(statement))
    names = [each for each in ast.walk(function) if isinstance(each, ast.Name)]
    variables = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    read = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)
            and isinstance(each.ctx, ast.Load)}  # fmt: skip
    return steps < 2 and not isinstance(statement, ast.AugAssign) and not read & variables


def _is_in(statement: ast.stmt, function: ast.FunctionDef) -> bool:
    """Whether it runs in this function, and not in one inside."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return not any(
        isinstance(each, inner) and each is not function and _holds(each, statement)
        for each in ast.walk(function)
    )


def _holds(node: ast.AST, statement: ast.stmt) -> bool:
    return any(each is statement for each in ast.walk(node))


def _names(function: ast.FunctionDef, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(function))


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(function))
