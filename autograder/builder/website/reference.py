"""The modules of labkit that a notebook imports, and the labs' answers: signatures, docstrings."""

from collections.abc import Collection

from autograder.builder.source import Lab
from autograder.imports import imported_modules, offered_by

MODULE = """\
.. automodule:: {name}
   :members:
   :member-order: bysource
"""


def reference_files(labs: Collection[Lab]) -> dict[str, bytes]:
    """A page for each of these labs and for each shared folder they use, by path in the site."""
    answers = {cell.target.module for lab in labs for cell in lab.exercises}
    pages: dict[str, list[str]] = {}
    for module in sorted(answers | _imported(labs), key=lambda name: (name.count("."), name)):
        pages.setdefault(_page_of(module), []).append(module)
    return {f"api/{name}.rst": _page(name, pages[name]).encode() for name in sorted(pages)}


def _imported(labs: Collection[Lab]) -> set[str]:
    """The names that students import in a notebook, without checks."""
    imported = (imported_modules(*(cell.text for cell in lab.cells)) for lab in labs)
    names = {name for modules in imported for name in modules if not offered_by(name)}
    return {name for name in names if name.startswith("labkit.") and ".checks." not in name}


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
