"""Which modules code needs, without running it: imports, names that a package offers, strings."""

import ast
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from autograder.names import parsed
from autograder.places import REPOSITORY
from labkit.lazy import places_of

OURS = ("labkit", "autograder")


def imported_modules(*sources: str) -> list[str]:
    """The modules that code needs and that exist."""
    return [name for name in needed_modules(*sources) if _is_module(name)]


def needed_modules(*sources: str) -> list[str]:
    """The modules that code needs, in order, whether they exist or not.

    sources: the cells of a notebook, or a file; what does not parse is left out. A cell knows the
    names that earlier ones have imported.
    A name of a package that offers names, such as `kit.Table`, stands for the module that has it. A
    string with the name of a labkit module counts, and one that completes such a name:
    `import_module(f"labkit.engine.{name}")`.
    """
    trees = filter(None, map(parsed, sources))
    nodes = [node for tree in trees for node in _parts_that_run(tree)]
    held: dict[str, str] = {}  # the module that a name holds
    needed: list[str] = []
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    needed.append(alias.name)
                    held[alias.asname or _top(alias.name)] = (
                        alias.name if alias.asname else _top(alias.name)
                    )
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    place = place_of(module, alias.name)
                    needed.append(place)
                    if place.endswith(f".{alias.name}"):
                        held[alias.asname or alias.name] = place
    attributes = (node for node in nodes if isinstance(node, ast.Attribute))
    needed += [place for node in attributes if (place := _module_at(node, held))]
    return list(dict.fromkeys([*needed, *_in_strings(nodes)]))


@cache
def needed_by_file(path: Path) -> tuple[str, ...]:
    """The modules that a file needs."""
    return tuple(needed_modules(path.read_text(encoding="utf-8")))


def place_of(module: str, name: str) -> str:
    """The module that `module.name` is, or else comes from; of other packages, `module`."""
    if _top(module) not in OURS:
        return module
    inside = f"{module}.{name}"
    return inside if _is_module(inside) else offered_by(module).get(name, module)


@cache
def offered_by(module: str) -> dict[str, str]:
    """The names that a module of labkit offers (see `labkit.lazy`), and the modules of these."""
    path = file_of(module)
    code = path.read_text(encoding="utf-8") if path else ""
    if "offer(" in code:
        for node in ast.walk(ast.parse(code)):
            match node:
                case ast.Call(func=ast.Name("offer"), args=[_, ast.Dict() as names]):
                    return places_of(ast.literal_eval(names))
    return {}


@cache
def file_of(module: str) -> Path | None:
    """The file of a module of ours."""
    path = REPOSITORY / module.replace(".", "/")
    files = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def _module_at(node: ast.AST, held: dict[str, str]) -> str:
    """The module that an expression like `labkit.models.facts.gpus` needs; "" for any other."""
    attributes = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    module = held.get(node.id, "") if isinstance(node, ast.Name) else ""
    if _top(module) != "labkit":
        return ""
    for name in reversed(attributes):
        place = place_of(module, name)
        if place == module or not place.endswith(f".{name}"):
            return place
        module = place
    return module


def _in_strings(nodes: list[ast.AST]) -> Iterator[str]:
    """The modules of labkit that strings name, whole or behind the beginning of an f-string."""
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    texts = {text for text in texts if isinstance(text, str) and _is_dotted(text)}
    starts = {""}
    for node in nodes:
        match node:
            case ast.JoinedStr(values=[ast.Constant(str(start)), *_]) if start.endswith("."):
                starts.add(start)
    for name in sorted(start + text for start in starts for text in texts):
        if name.startswith("labkit.") and file_of(name):
            yield name


def _parts_that_run(tree: ast.AST) -> Iterator[ast.AST]:
    """All below a tree but what stands under `if TYPE_CHECKING`, and tables of offered names."""
    todo = [tree]
    while todo:
        match node := todo.pop():
            case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.Call(func=ast.Name("offer")):
                continue
        yield node
        todo += reversed(list(ast.iter_child_nodes(node)))


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))


def _top(module: str) -> str:
    return module.partition(".")[0]


def _is_module(name: str) -> bool:
    if _top(name) in OURS:
        return file_of(name) is not None
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
