"""The definitions of a notebook, without lines that could mark the right options of a question.

A question's options are values of the student's own process. A line beside the definitions could
change Python itself there, and one inside could read who calls it, so that the right option looks
unlike the others. Keys are computed without such lines. A definition that tests itself can still do
it: it stands on the TA's page, for it is the code that is asked about.
"""

import ast
from collections.abc import Iterator, Mapping
from itertools import pairwise

from labkit.checks.names import MAGIC

LIBRARIES = frozenset(
    "__future__ abc bisect collections contextlib copy dataclasses decimal enum fractions "
    "functools hashlib heapq itertools json labkit math numpy operator random re statistics string "
    "struct time torch transformers triton types typing".split()
)
# What reads or changes the running program, as a name, and as an attribute or a part of an import.
NAMES = frozenset(
    "breakpoint compile delattr eval exec get_ipython getattr globals input locals open setattr "
    "vars".split()
)
PARTS = frozenset(
    "_getframe asyncio attrgetter bridge builtins checks concurrent cr_code cr_frame ctypes f_back "
    "f_builtins f_code f_globals f_lineno f_locals f_trace format_map fx gc gi_code gi_frame "
    "importlib inspect linecache logging methodcaller modules multiprocessing os overrides pickle "
    "script subprocess sys tb_frame tb_lineno tb_next threading traceback warnings".split()
)
METHODS = frozenset(
    f"__{name}__"
    for name in "class contains enter eq exit getitem hash init iter len name new next post_init "
    "repr setitem slots".split()
)
KEPT = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign,
    ast.AnnAssign,
)  # fmt: skip


def plain(source: str, modules: frozenset[str] = frozenset()) -> str:
    """A cell's definitions, imports and assignments that do none of this; each in its own lines.

    modules: that were handed in beside the notebook.
    """
    text = MAGIC.sub(r"\1pass", source)
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    lines, kept = text.split("\n"), [""] * (text.count("\n") + 1)
    spans = [(_first_line(each), each.end_lineno or 0) for each in body]
    shared = {end for (_, end), (start, _) in pairwise(spans) if start == end}
    for node, (start, end) in zip(body, spans, strict=True):
        is_alone = not shared & {start, end}
        if isinstance(node, KEPT) and is_alone and not any(_refused(node, modules)):
            kept[start - 1 : end] = lines[start - 1 : end]
    return "\n".join(kept)


def plain_modules(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The same of the modules beside a notebook; no other file."""
    own = modules_of(files)
    return {name: plain(content.decode("utf-8", "replace"), own).encode()
            for name, content in files.items() if name.endswith(".py")}  # fmt: skip


def modules_of(files: Mapping[str, bytes]) -> frozenset[str]:
    """The names by which the files beside a notebook are imported."""
    return frozenset(name.partition("/")[0].removesuffix(".py") for name in files)


def _first_line(statement: ast.stmt) -> int:
    return min(each.lineno for each in (statement, *getattr(statement, "decorator_list", ())))


def _refused(statement: ast.stmt, modules: frozenset[str]) -> Iterator[bool]:
    """For each part of a statement whether it could read or change the running program."""
    nodes = [*ast.walk(statement)]
    own = {each.id for each in nodes if isinstance(each, ast.Name) and not _is_read(each)}
    own |= {each.arg for each in nodes if isinstance(each, ast.arg)}
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
                yield not _is_read(node) and _root(node) not in own
                yield _is_told(attr) or (attr == "format" and id(node) not in fine)
            case ast.Name(id=name):
                yield (name in NAMES or _is_hidden(name)) and id(node) not in fine
            case ast.Constant(value=str(value)):
                yield "__" in value and "{" in value  # a format that reads attributes


def _written_out(node: ast.AST) -> list[ast.expr]:
    """The function of a call whose text is written there: what it reads can be seen."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str())) as called):
            return [called]
        case ast.Call(
            func=ast.Name(id="getattr") as called, args=[_, ast.Constant(value=str(attr)), *_]
        ) if not _is_told(attr):
            return [called]
    return []


def _is_strange(dotted: str, modules: frozenset[str]) -> bool:
    parts = dotted.split(".")
    return parts[0] not in LIBRARIES | modules or any(map(_is_told, parts[1:]))


def _is_told(attr: str) -> bool:
    """Whether an attribute may tell who calls, or what the code is."""
    return attr in PARTS or attr.startswith("co_") or _is_hidden(attr)


def _is_hidden(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in METHODS


def _is_read(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _root(node: ast.expr) -> str:
    """The variable whose attribute it is; "" for that of something else."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return getattr(node, "id", "")
