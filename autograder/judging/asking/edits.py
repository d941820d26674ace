"""Changes of a definition for an oral question: two lines swapped, notes of values, their names."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from labkit.checks.names import text_of
from labkit.checks.why.changes import (
    Change,
    changes_of,
    inner_statements,
    read_definition,
    slip_in,
    statements_of,
)

MOST_LINES, MOST_CHARS = 400, 20_000  # of a definition that is asked about
SIMPLE = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr | ast.Delete
TIMES = ("first", "second", "third", "fourth")
STEPS = ast.BinOp | ast.Call | ast.BoolOp | ast.Compare | ast.IfExp | ast.comprehension


@dataclass(frozen=True, slots=True)
class Swap:
    """A definition in which two statements of one block have changed places."""

    lines: tuple[int, int]
    definition: str

    @property
    def line(self) -> int:
        """The first one."""
        return self.lines[0]

    @property
    def are_neighbours(self) -> bool:
        """Whether one line runs after the other: the slip is to update before what reads."""
        return self.lines[1] == self.lines[0] + 1


@dataclass(frozen=True, slots=True)
class Spot:
    """A line after which a variable has a new value; `self.length` is one, too."""

    line: int
    variable: str


def has_lines_of_python(source: str) -> bool:
    """Whether a text has no other ends of lines than those by which we count them."""
    return not source or source.splitlines() == source.removesuffix("\n").split("\n")


def is_askable(source: str, name: str) -> bool:
    """Whether a cell's definition is short enough to print, and its lines are those of Python."""
    if len(source) > MOST_CHARS or not has_lines_of_python(source):
        return False
    found, lines = read_definition(source, name)
    return found is not None and len(lines) - found.lineno < MOST_LINES


def swaps_of(source: str, name: str) -> list[Swap]:
    """Every swap of two simple statements of one line in a block that are not the same."""
    found, lines = read_definition(source, name)
    swaps = []
    for block in _blocks(found) if found else ():
        for one, other in combinations(block, 2):
            places = one.lineno - 1, other.lineno - 1
            is_other = ast.dump(one) != ast.dump(other)
            if is_other and all(_is_alone(each, lines) for each in (one, other)):
                swapped = list(lines)
                swapped[places[0]], swapped[places[1]] = lines[places[1]], lines[places[0]]
                swaps.append(Swap((one.lineno, other.lineno), "\n".join(swapped)))
    return swaps


@lru_cache(maxsize=64)
def noted(source: str, name: str) -> tuple[list[Spot], str]:
    """Places where a variable gets a value by more than one step; the definition that notes it.

    None of a variable that nothing reads.

    None in a function that calls itself, or yields: which time is the first is not plain there.
    None in a kernel in Triton, which may not call what notes it.
    """
    found, lines = read_definition(source, name)
    spots: list[Spot] = []
    if (
        found is None
        or "tl.constexpr" in source
        or any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(found))
    ):
        return spots, "\n".join(lines)
    again = {each for function in ast.walk(found) if _calls_itself(function)
             for each in ast.walk(function)}  # fmt: skip
    stored = stored_in(found)
    read = {each.id for each in ast.walk(found)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}  # fmt: skip
    notes: dict[int, str] = {}
    for statement in statements_of(found):
        variables = (
            [] if statement in again or _is_one_step(statement, stored) else _assigned(statement)
        )
        line, end = statement.lineno, statement.end_lineno or statement.lineno
        indent = lines[line - 1].encode()[: statement.col_offset].decode()
        after = lines[end - 1].encode()[statement.end_col_offset :].decode().strip()
        if indent.strip() or (after and not after.startswith("#")):
            continue
        for each in variables:
            if "." not in each and each not in read:
                continue
            spots.append(Spot(line, each))
            notes[end] = notes.get(end, "") + f"\n{indent}__note__({line}, {each!r}, {each})"
    return spots, "\n".join(f"{text}{notes.get(i, '')}" for i, text in enumerate(lines, 1))


def roles_of(source: str, name: str) -> dict[int, str]:
    """What statements are, by line, for a reader without the code: "the line of `f` that sets `x`".

    Of several that are the same in one function, the role says which one it is.
    """
    found, _ = read_definition(source, name)
    roles: dict[str, list[int]] = {}  # with the lines that set a variable beside others
    own: dict[int, str] = {}
    for function in ast.walk(found) if found else ():
        if isinstance(function, ast.FunctionDef):
            for statement in statements_of(function):
                head, *tails = _role(statement)
                names = [f"{head} of `{function.name}`{tail}" for tail in tails]
                own[statement.lineno] = names[0]
                for each in names:
                    roles.setdefault(each, []).append(statement.lineno)
    return {
        line: role.replace(
            "the ", f"the {_nth(sorted(lines).index(line))} " if len(lines) > 1 else "the ", 1
        )
        for line, role in own.items()
        for lines in [roles[role]]
    }


def slips_of(source: str, name: str) -> list[Change]:
    """The changes of `check.why`, and those that take another variable of the same kind."""
    found, _ = read_definition(source, name)
    functions = [each for each in (ast.walk(found) if found else ())
                 if isinstance(each, ast.FunctionDef)]  # fmt: skip
    others = {
        (node.lineno, node.col_offset, text_of(node)): other
        for function in functions
        for names in [_mixed_up(function)]
        for node in ast.walk(function)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        if (other := names.get(text_of(node)))
    }

    def slip(node: ast.expr) -> str:
        return slip_in(node) or others.get((node.lineno, node.col_offset, text_of(node)), "")

    return changes_of(source, name, slip)


def stored_in(found: ast.AST) -> set[str]:
    """The names that a definition sets."""
    return {each.id for each in ast.walk(found) if isinstance(each, ast.Name)
            and isinstance(each.ctx, ast.Store)}  # fmt: skip


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


def _assigned(statement: ast.stmt) -> list[str]:
    """The variables that a statement gives a value, unless that is written there."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)]):
            value: ast.expr | None = None
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            targets, value = [target], getattr(statement, "value", None)
        case _:
            return []
    if isinstance(value, ast.Constant | ast.Lambda) and not isinstance(statement, ast.AugAssign):
        return []
    return [ast.unparse(each) for each in targets
            if isinstance(each, ast.Name) or (isinstance(each, ast.Attribute)
                                              and isinstance(each.value, ast.Name))]  # fmt: skip


def _is_one_step(statement: ast.stmt, stored: set[str]) -> bool:
    """Whether an assignment does one operation, on arguments alone, which a call shows."""
    steps = sum(isinstance(each, STEPS) for each in ast.walk(statement))
    read = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)
            and isinstance(each.ctx, ast.Load)}  # fmt: skip
    return steps < 2 and not isinstance(statement, ast.AugAssign) and not read & {*stored, "self"}


def _calls_itself(function: ast.AST) -> bool:
    if not isinstance(function, ast.FunctionDef):
        return False
    return any(
        (isinstance(each, ast.Name) and each.id == function.name)
        or (isinstance(each, ast.Attribute) and each.attr == function.name
            and ast.unparse(each.value) == "self")
        for each in ast.walk(function)
    )  # fmt: skip


def _role(statement: ast.stmt) -> list[str]:
    """What a statement is called, what it does, and what it does to each of several variables."""
    match statement:
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
            several = getattr(statement, "targets", None) or [statement.target]
            parts = [_named(part) for each in several for part in getattr(each, "elts", [each])]
            verb = "changes" if isinstance(statement, ast.AugAssign) else "sets"
            alone = parts if len(parts) > 1 else []
            return ["the line", *(f" that {verb} {each}" for each in (" and ".join(parts), *alone))]
        case ast.For(target=target):
            return ["the loop", f" over `{text_of(target)}`"]
        case ast.Expr(value=ast.Call(func=called)):
            return ["the line", f" that calls `{text_of(called)}`"]
        case ast.Expr():
            return ["the line", " with an expression alone"]
    return [f"the `{type(statement).__name__.lower().replace('delete', 'del')}`", ""]


def _named(target: ast.expr) -> str:
    if isinstance(target, ast.Subscript):
        return f"an item of `{text_of(target.value)}`"
    return f"`{text_of(target)}`"


def _nth(i: int) -> str:
    return TIMES[i] if i < len(TIMES) else f"{i + 1}th"


def _mixed_up(function: ast.FunctionDef) -> dict[str, str]:
    """For a variable or attribute the next one of its kind: they share a word, an annotation, or
    the object that has both; or both have one letter.
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
    return {f"{base}{dot}{word}" for word in words} | ({base} if base != "self" else set()) - {""}
