"""Where a sweep frees memory, as its text says: what its process says could be forged."""

import ast
from collections.abc import Iterator

CATCH_ALL = frozenset({"MemoryError", "Exception", "BaseException"})


def is_freed_inside_except(text: str) -> bool:
    """Whether the `except` block that catches `measure`'s MemoryError itself calls `free_memory`.

    text: of the cell that defines `sweep`. False if it cannot be told from the text: a function may
    be called there that frees memory.
    """
    try:
        sweeps = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for sweep in sweeps:
        names = [each.arg for each in (*sweep.args.posonlyargs, *sweep.args.args)]
        if sweep.name == "sweep" and len(names) > 3:
            return any(
                _calls(handler.body, names[3]) for handler in _handlers(sweep.body, names[1])
            )
    return False


def _handlers(body: list[ast.stmt], measure: str) -> Iterator[ast.ExceptHandler]:
    """For each innermost `try` that calls this function, what catches its MemoryError."""
    for node in _inside(body):
        if isinstance(node, ast.Try) and _calls(node.body, measure):
            caught = [one for one in node.handlers if catches_memory_error(one)]
            inner = [*_handlers(node.body, measure)]
            if caught and not inner:
                yield caught[0]


def catches_memory_error(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches every MemoryError."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        kind is None or (isinstance(kind, ast.Name) and kind.id in CATCH_ALL) for kind in kinds
    )


def _calls(body: list[ast.stmt], name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in _inside(body)
    )


def _inside(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes, but for those of functions that are only defined there."""
    todo: list[ast.AST] = [*body]
    while todo:
        yield (node := todo.pop())
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
