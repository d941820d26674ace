"""The definitions of a notebook, without lines that could mark the right options of a question.

A question's options are values of the student's own process. A line beside the definitions could
change Python itself there, one inside could read who calls it or how it was changed, and one that
runs when a function is defined could keep what the function gave before a change. Then the right
option looks unlike the others. Keys are computed without such statements: a list of what is refused
is never complete, so the TA's page shows the code, too.
"""

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from autograder.judging.asking.edits import has_lines_of_python
from autograder.names import parsed
from labkit.checks.names import MAGIC, text_of

LIBRARIES = frozenset(
    "__future__ abc bisect collections contextlib copy dataclasses decimal enum fractions "
    "functools hashlib heapq itertools json labkit math numpy operator random re statistics struct "
    "torch triton types typing".split()
)
# What reads or changes the running program: as a name, as an attribute, as a part of an import.
TELLING = frozenset(
    "ForwardRef Formatter _generate_next_value_ _getframe _missing_ asyncio attrgetter breakpoint "
    "bridge builtins checks codecs concurrent cr_code cr_frame ctypes ctypeslib datetime delattr "
    "eval exec f2py f_back f_builtins f_code f_globals f_lineno f_locals f_trace format_map "
    "from_file fromfile fx gc get_field get_ipython get_json_schema get_type_hints gi_code "
    "gi_frame globals importlib inspect linecache locals logging make_dataclass memmap "
    "methodcaller modules monotonic monotonic_ns multiprocessing os overrides perf_counter "
    "perf_counter_ns pickle process_time runstring script setattr share_memory_ singledispatch "
    "singledispatchmethod sleep subprocess sys tb_frame tb_lineno tb_next testing threading "
    "time_ns tofile traceback update_wrapper vars vformat warnings".split()
)
NAMES = TELLING | {"compile", "getattr", "input", "open", "time"}  # honest code has attributes so
OF_LIBRARIES = frozenset(
    "distributed export hub library onnx ops package profiler savetxt savez utils".split()
)
FILES = frozenset(f"{library}.{name}" for library in ("torch", "numpy", "np", "json")
                  for name in ("compile", "dump", "load", "save"))  # fmt: skip
METHODS = frozenset(
    f"__{name}__"
    for name in "add bool call class contains enter eq exit getitem hash init iter len lt name new "
    "next post_init repr setitem slots str torch_dispatch".split()
)
KEPT = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign,
    ast.AnnAssign,
)  # fmt: skip
IN_CLASSES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
NOT_BOUND = {*dir(builtins), "lab", "torch"}


@dataclass(frozen=True)
class Known:
    """What a notebook has in all of its cells and modules.

    modules: that were handed in beside it. defined: its functions and classes.
    """

    modules: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()

    @classmethod
    def of(cls, sources: Iterable[str], files: Mapping[str, bytes]) -> "Known":
        """From the text of the cells, and the files beside the notebook."""
        texts = [*sources, *map(_text, (files[name] for name in files if name.endswith(".py")))]
        defined = frozenset(
            each.name
            for text in texts
            for statement in _statements(text)
            for each in ast.walk(statement)
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        )
        modules = {name.partition("/")[0].removesuffix(".py") for name in files}
        return cls(frozenset(modules), defined)

    def plain(self, source: str) -> str:
        """Definitions, imports and assignments of a cell that do none of this, in their lines."""
        text, body = MAGIC.sub(r"\1pass", source), _statements(source)
        lines, kept = text.split("\n"), [""] * (text.count("\n") + 1)
        spans = [(_first_line(each), each.end_lineno or 0) for each in body]
        shared = {end for (_, end), (start, _) in pairwise(spans) if start == end}
        for node, (start, end) in zip(body, spans, strict=True):
            is_alone = not shared & {start, end}
            if isinstance(node, KEPT) and is_alone and not self._refuses(node):
                kept[start - 1 : end] = lines[start - 1 : end]
        return "\n".join(kept)

    def plain_modules(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """The same of the modules beside a notebook; no other file."""
        return {name: self.plain(_text(content)).encode()
                for name, content in files.items() if name.endswith(".py")}  # fmt: skip

    def _refuses(self, statement: ast.stmt) -> bool:
        return (
            bool(_bound(statement) & NOT_BOUND)
            or any(_telling(statement, self.modules))
            or any(self._runs_own(each) for each in _at_definition(statement))
        )

    def _runs_own(self, expression: ast.AST | None) -> bool:
        """Whether a function of the notebook could run in it; None: no one knows what runs."""
        if expression is None:
            return True
        calls = [each for each in ast.walk(expression) if isinstance(each, ast.Call)]
        return any(
            isinstance(part, ast.Name) and part.id in self.defined
            for call in calls
            for part in ast.walk(call)
        )


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _statements(source: str) -> list[ast.stmt]:
    """None of a text whose lines are not those that Python counts."""
    tree, text = parsed(source), MAGIC.sub(r"\1pass", source)
    return tree.body if tree and has_lines_of_python(text) else []


def _first_line(statement: ast.stmt) -> int:
    return min(each.lineno for each in (statement, *getattr(statement, "decorator_list", ())))


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement of a cell gives a value; `import torch` gives its own."""
    match statement:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {each.asname for each in names if each.asname} | {
                each.name for each in names if isinstance(statement, ast.ImportFrom)
            }
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
    return {each.id for each in ast.walk(statement)
            if isinstance(each, ast.Name) and not _is_read(each)}  # fmt: skip


def _at_definition(statement: ast.stmt) -> Iterator[ast.AST | None]:
    """What runs when a statement of a cell or a class runs; None for what a class should not do.

    A decorator of the notebook's own runs, too: as if it were called.
    """
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            arguments = statement.args
            yield from (*arguments.defaults, *filter(None, arguments.kw_defaults))
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
                     arguments.vararg, arguments.kwarg)  # fmt: skip
            yield from (each.annotation for each in every if each and each.annotation)
            yield from (each for each in [statement.returns] if each)
        case ast.ClassDef(body=body):
            yield from (*statement.bases, *statement.keywords)
            for each in body:
                is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
                if isinstance(each, IN_CLASSES):
                    yield from _at_definition(each)
                elif not is_text and not isinstance(each, ast.Pass):
                    yield None
        case _:
            yield statement
    for each in getattr(statement, "decorator_list", ()):
        is_property = isinstance(each, ast.Attribute) and each.attr in ("setter", "getter")
        yield each if is_property else ast.Call(each, [], [])


def _telling(statement: ast.stmt, modules: frozenset[str]) -> Iterator[bool]:
    """For each part of a statement whether it could read or change the running program."""
    nodes = [*ast.walk(statement)]
    own = {each.id for each in nodes if isinstance(each, ast.Name) and not _is_read(each)}
    own |= {each.arg for each in nodes if isinstance(each, ast.arg)}
    attributes = {getattr(each, "name", None) for each in nodes}
    attributes |= {each.attr for each in nodes
                   if isinstance(each, ast.Attribute) and not _is_read(each)}  # fmt: skip
    fine = {id(part) for each in nodes for part in _written_out(each)}
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield any(_is_strange(each.name, modules) for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield level > 0 or any(
                    _is_strange(f"{module}.{each.name}", modules) for each in names
                )
            case ast.Attribute(attr=attr):
                is_own = _root(node) in own
                yield not _is_read(node) and not is_own
                yield _is_told(attr) or (attr == "format" and id(node) not in fine)
                yield attr.startswith("_") and attr not in attributes | METHODS
                yield not is_own and (attr in OF_LIBRARIES or text_of(node) in FILES)
            case ast.Name(id=name):
                is_named = (name in NAMES and name not in own) or _is_hidden(name)
                is_bare = name in LIBRARIES and name not in own
                yield (is_named or is_bare) and id(node) not in fine
            case ast.Constant(value=str(value)):  # a format that reads attributes, but no docstring
                yield "__" in value and "{" in value and id(node) not in fine
            case ast.MatchClass(kwd_attrs=names) | ast.Global(names=names):
                yield any(_is_told(each) or each in NOT_BOUND for each in names)
            case ast.keyword(arg="assigned" | "updated" | "metaclass"):
                yield True
            case ast.Call(func=ast.Name(id="type"), args=[_, _, *_]):
                yield True
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield _is_told(name)


def _written_out(node: ast.AST) -> list[ast.expr]:
    """What is read of a text or a library, where that is written there; a docstring."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str())) as called):
            return [called]
        case ast.Call(
            func=ast.Name(id="getattr") as called,
            args=[read, ast.Constant(value=str(attr)), *_],
        ) if not _is_told(attr) and not attr.startswith("_") and attr not in OF_LIBRARIES:
            return [called, read]
        case ast.Expr(value=ast.Constant() as text):
            return [text]
        case ast.Attribute(value=read):
            return [read] if isinstance(read, ast.Name) and read.id not in NAMES else []
    return []


def _is_strange(dotted: str, modules: frozenset[str]) -> bool:
    library, *parts = dotted.split(".")
    if library in modules:
        return any(map(_is_told, parts))
    return (
        library not in LIBRARIES
        or any(_is_told(each) or each.startswith("_") or each in OF_LIBRARIES for each in parts)
        or dotted in FILES
    )


def _is_told(attr: str) -> bool:
    """Whether an attribute may tell who calls, or what the code is."""
    return attr in TELLING or attr.lstrip("_") in TELLING or attr[:3] == "co_" or _is_hidden(attr)


def _is_hidden(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in METHODS


def _is_read(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _root(node: ast.expr) -> str:
    """The variable whose attribute it is; "" for that of something else."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return getattr(node, "id", "")
