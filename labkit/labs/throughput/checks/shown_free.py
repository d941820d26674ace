"""Whether the text of a sweep shows that no MemoryError exists where it frees memory.

Its process could forge what it says of that. What the text does not show, a person decides.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from labkit.labs.throughput.checks.handlers import catches_memory_error

Held = frozenset[str]  # names that may stand for the exception
HARMLESS = frozenset({"str", "repr", "print", "len", "list", "tuple", "isinstance", "float"})
REACHING = frozenset(
    "exec eval globals locals vars exc_info exception last_exc last_value _getframe currentframe "
    "settrace setprofile get_objects".split()
)
TIMED = re.compile(r"\s*%%(?:time|capture)\b.*")  # at the top of a cell: it runs as it is


class NotShown(Exception):
    """The text does not show it."""


def is_shown_free(text: str) -> bool:
    """Whether the text says by itself that memory is freed after the exception is gone.

    text: of the cell that defines `sweep`.
    """
    try:
        body = ast.parse(TIMED.sub("", text, count=1) if TIMED.match(text) else text).body
        sweeps = [one for one in body if isinstance(one, ast.FunctionDef) and one.name == "sweep"]
        is_freed = _Sweep(sweeps[-1]).is_freed()
    except (SyntaxError, ValueError, RecursionError, MemoryError, IndexError, NotShown):
        return False
    return is_freed and all(one is sweeps[-1] or "sweep" not in _names(one) for one in body)


class _Sweep:
    """Follows the statements of a sweep with the names that may stand for its exception."""

    def __init__(self, sweep: ast.FunctionDef) -> None:
        given = [each.arg for each in (*sweep.args.posonlyargs, *sweep.args.args)]
        self._body, self._is_plain = sweep.body, not sweep.decorator_list
        _, self._measure, self._save, self._free = given[:4]
        self._left: Held = frozenset()  # where a loop is left, or goes on with its next turn

    def is_freed(self) -> bool:
        """Whether memory is freed at all where the exception is gone.

        Raises: NotShown where it may not be gone; ValueError for fewer parameters.
        """
        nodes = [node for one in self._body for node in ast.walk(one)]
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        for node in nodes:
            name = _name(node)
            is_passed_on = name in (self._measure, self._free) and id(node) not in called
            if is_passed_on or name in REACHING or isinstance(node, ast.Global | ast.Nonlocal):
                raise NotShown
        if not self._is_plain:
            raise NotShown
        self._block(self._body, frozenset(), False)
        handlers = [node for node in nodes if isinstance(node, ast.ExceptHandler)]
        is_freed = any(id(node) in called and _name(node) == self._free for node in nodes)
        return is_freed and any(map(catches_memory_error, handlers))

    def _block(self, body: Iterable[ast.stmt], held: Held, is_inside: bool) -> Held:
        for statement in body:
            held = self._statement(statement, held, is_inside)
        return held

    def _statement(self, one: ast.stmt, held: Held, is_inside: bool) -> Held:
        match one:
            case ast.If(test=test, body=body, orelse=orelse):
                self._use(test, held, is_inside)
                ends = [
                    self._block(part, held - _absent(test, is_true), is_inside)
                    for part, is_true in ((body, True), (orelse, False))
                ]
                return ends[0] | ends[1]
            case ast.For(iter=head) | ast.While(test=head):
                self._use(head, held, is_inside)
                before, self._left = self._left, frozenset()
                for _ in range(2):  # what a turn leaves, the next one finds
                    held |= self._block(one.body, held, is_inside) | self._left
                self._left = before
                return held | self._block(one.orelse, held, is_inside)
            case ast.Try():
                return self._try(one, held, is_inside)
            case ast.FunctionDef(body=body, decorator_list=[]) if self._free not in _names(one):
                if self._block(body, frozenset(), False):
                    raise NotShown
                return held - {one.name}
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
                return held | {name} if other in held else held - {name}
            case ast.Delete(targets=[ast.Name(id=name)]):
                return held - {name}
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Expr() | ast.Return():
                self._use(one, held, is_inside)
                targets = getattr(one, "targets", ())
                return held - {each.id for each in targets if isinstance(each, ast.Name)}
            case ast.Continue() | ast.Break():
                self._left |= held
                return held
            case ast.Raise() | ast.Pass() | ast.Assert():
                return held
        raise NotShown

    def _try(self, one: ast.Try, held: Held, is_inside: bool) -> Held:
        after = self._block(one.body, held, is_inside)
        ends = self._block(one.orelse, after, is_inside)
        is_caught = False  # by a handler above
        for handler in one.handlers:
            names = frozenset() if is_caught else frozenset({handler.name} - {None})
            is_caught |= catches_memory_error(handler)
            ends |= self._block(handler.body, held | after | names, True) - names
            self._left -= names  # Python unbinds them where the handler is left
        return self._block(one.finalbody, held | ends, is_inside or not one.handlers)

    def _use(self, code: ast.AST, held: Held, is_inside: bool) -> None:
        """Refuse to free memory, or to pass the exception on, while it exists."""
        fine = {id(each) for node in ast.walk(code) for each in _only_looked_at(node)}
        for node in ast.walk(code):
            is_kept = isinstance(node, ast.Name) and node.id in held and id(node) not in fine
            is_load = isinstance(getattr(node, "ctx", None), ast.Load)
            if is_kept and is_load:
                raise NotShown
            if isinstance(node, ast.Call) and (is_inside or held):
                name = _name(node.func)
                if name == self._free or (is_inside and name not in HARMLESS | {self._save}):
                    raise NotShown


def _only_looked_at(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node whose value it does not keep."""
    match node:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()]):
            yield left
        case ast.Call(func=ast.Name(id="str" | "repr" | "isinstance"), args=[first, *_]):
            yield first
        case ast.FormattedValue(value=value) | ast.UnaryOp(op=ast.Not(), operand=value):
            yield value


def _absent(test: ast.expr, is_true: bool) -> Held:
    """The name that is None where a test is true, or false."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[kind], comparators=[ast.Constant(None)]):
            return frozenset({name} if isinstance(kind, ast.Is) == is_true else ())
    return frozenset()


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", getattr(node, "id", "")) or ""


def _names(code: ast.AST) -> set[str]:
    found = {_name(node) for node in ast.walk(code)}
    return found | {getattr(code, "name", "")}
