"""Taking answers out of source code, and nothing else: comments, signatures and docstrings stay.

The same functions make the stub of a notebook cell, the solved cell between nbgrader's markers, and
the student's labkit, so the three cannot disagree about where an answer begins.
"""

import ast
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache

STUB = ("# TODO: write this part", 'raise NotImplementedError("this part is still to do")')
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Target:
    """The code of an exercise cell, and the functions in it that students write.

    name: the top-level function or class, which is also the exercise's name; blanked: qualified
    names of the functions whose bodies are the answer.
    """

    module: str
    name: str
    blanked: frozenset[str]


def parse_target(text: str, source: str) -> Target:
    """Read "labkit.kv_cache:ArenaCache" or "labkit.kv_cache:Ring.append,Ring.mask".

    source: the text of that module. Raises: ValueError if a name is not in it.
    """
    module, _, names = text.partition(":")
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    tops = {name.split(".")[0] for name in wanted}
    if not module or len(tops) != 1:
        raise ValueError(f"an exercise names one function or class, as module:name; got {text!r}")
    (top,) = tops
    known = _names(source)
    blanked = set()
    for name in wanted:
        below = {other for other in known if other == name or other.startswith(name + ".")}
        if not below:
            raise ValueError(f"{text!r}: {module} has no function or class {name}")
        blanked |= below
    return Target(module, top, frozenset(blanked))


@cache
def _names(source: str) -> frozenset[str]:
    return frozenset(name for name, _ in _functions(ast.parse(source)))


def blank_functions(source: str, blanked: Collection[str]) -> str:
    """The module with the bodies of these functions replaced by the stub."""
    return rewrite_bodies(source, blanked, lambda indent, body: [indent + line for line in STUB])


def solved_cell(source: str, target: Target) -> str:
    """The exercise as the instructor sees it: answers between nbgrader's solution markers."""
    marked = rewrite_bodies(
        source, target.blanked, lambda indent, body: [indent + BEGIN, *body, indent + END]
    )
    return _top_level(marked, target.name)


def plain_cell(source: str, target: Target) -> str:
    """The exercise with its answer, to read."""
    return _top_level(source, target.name)


def stub_cell(source: str, target: Target) -> str:
    """The exercise as a student gets it."""
    return _top_level(blank_functions(source, target.blanked), target.name)


def blank_values(source: str) -> str:
    """An answer cell with every value in its assignments replaced by `...`.

    Keys of dicts, the shape of lists and all comments stay.
    """
    leaves: list[ast.expr] = []
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign):
            leaves += _leaves(statement.value)
    lines = [line.encode() for line in source.splitlines()]
    for node in sorted(leaves, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first, last = node.lineno - 1, node.end_lineno - 1
        joined = lines[first][: node.col_offset] + b"..." + lines[last][node.end_col_offset :]
        lines[first : last + 1] = [joined]
    return b"\n".join(lines).decode()


def _leaves(node: ast.expr) -> Iterable[ast.expr]:
    if isinstance(node, ast.Dict):
        return [leaf for value in node.values for leaf in _leaves(value)]
    if isinstance(node, ast.List | ast.Tuple):
        return [leaf for item in node.elts for leaf in _leaves(item)]
    return [node]


def _functions(tree: ast.Module) -> list[tuple[str, FunctionNode]]:
    """Functions and methods by qualified name; an inner function belongs to its outer one."""
    found: list[tuple[str, FunctionNode]] = []

    def visit(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, FunctionNode):
                found.append((prefix + node.name, node))
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")

    visit(tree.body, "")
    return found


def rewrite_bodies(
    source: str, names: Collection[str], rewrite: Callable[[str, list[str]], list[str]]
) -> str:
    """Pass the body of each named function, after its docstring, through `rewrite`."""
    lines = source.splitlines()
    chosen = [(name, node) for name, node in _functions(ast.parse(source)) if name in names]
    for _, node in sorted(chosen, key=lambda pair: pair[1].lineno, reverse=True):
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        first = (node.body[0].end_lineno if body != node.body else _header_end(node)) or 0
        end = node.end_lineno or len(lines)
        while not lines[first].strip():
            first += 1
        indent = " " * node.body[0].col_offset
        lines[first:end] = rewrite(indent, lines[first:end])
    return "\n".join(lines) + "\n"


def _header_end(node: FunctionNode) -> int:
    """The last line of a signature: the line before the first statement of the body."""
    return node.body[0].lineno - 1


def _top_level(source: str, name: str) -> str:
    """The text of one top-level function or class, decorators included."""
    for node in ast.parse(source).body:
        if isinstance(node, FunctionNode | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(source.splitlines()[first - 1 : _end_with_marker(source, node)])
    raise ValueError(f"no function or class {name}")


def _end_with_marker(source: str, node: ast.stmt) -> int:
    """The node's last line, and the closing marker, which is only a comment, after it."""
    lines = source.splitlines()
    end = node.end_lineno or len(lines)
    return end + 1 if end < len(lines) and lines[end].strip() == END else end
