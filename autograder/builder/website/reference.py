"""The modules of labkit that a notebook imports, and the labs' answers: signatures, docstrings."""

import ast
from collections.abc import Iterator

from autograder.builder.source import REPOSITORY, SOURCES, read_labs

MODULE = """\
.. automodule:: {name}
   :members:
   :member-order: bysource
"""


def reference_files() -> dict[str, bytes]:
    """A page for each lab and for each shared folder of labkit, by path in the site."""
    answers = {cell.target.module for lab in read_labs() for cell in lab.exercises}
    pages: dict[str, list[str]] = {}
    for module in sorted(answers | set(_imported()), key=lambda name: (name.count("."), name)):
        pages.setdefault(_page_of(module), []).append(module)
    return {f"api/{name}.rst": _page(name, pages[name]).encode() for name in sorted(pages)}


def _imported() -> Iterator[str]:
    """What students import in a notebook; a check is no part of it."""
    for path in SOURCES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("labkit"):
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                found = {name if _is_module(name) else node.module for name in inside}
                yield from (name for name in found if ".checks." not in name)


def _is_module(name: str) -> bool:
    path = REPOSITORY / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def _page_of(module: str) -> str:
    """labkit.models, labkit.zoo; a lab's folder is on the page of its answers."""
    parts = module.split(".")
    return f"labkit.{parts[2] if parts[1] == 'labs' else parts[1]}"


def _page(name: str, modules: list[str]) -> str:
    parts = [f"{name}\n{'=' * len(name)}\n"]
    for module in modules:
        heading = f"{module}\n{'-' * len(module)}\n" if module != name else ""
        parts += [heading, MODULE.format(name=module)]
    return "\n".join(parts)
