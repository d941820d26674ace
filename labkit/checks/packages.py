"""The imports of a notebook that are allowed in grading, and those that the grader lacks."""

import ast
import sys
from collections.abc import Iterable, Iterator

from labkit.checks.names import MAGIC

# Small libraries that annotate or reshape tensors, and what labkit itself needs.
PACKAGES = (
    "beartype", "einops", "ipywidgets", "jaxtyping", "matplotlib", "numpy", "safetensors",
    "tokenizers", "torch", "tqdm", "transformers", "typing_extensions",
)  # fmt: skip
GIVEN = "the standard library, labkit, the files beside the notebook, and " + ", ".join(PACKAGES)
_KNOWN = sys.stdlib_module_names | {"IPython", "labkit", "labkit_data", *PACKAGES}


def not_given(source: str, beside: Iterable[str] = ()) -> list[str]:
    """The packages that code imports and that the grader lacks, in order.

    beside: the modules that lie beside the notebook. What stands in a `try` may fail.
    """
    try:
        tree = ast.parse(MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    known = _KNOWN.union(beside)
    return [name for name in dict.fromkeys(_imported(tree)) if name not in known]


def _imported(node: ast.AST) -> Iterator[str]:
    """The topmost names of what a tree imports, without what stands in a `try`."""
    match node:
        case ast.Try():
            return
        case ast.Import(names=names):
            yield from (each.name.partition(".")[0] for each in names)
        case ast.ImportFrom(module=str(module), level=0):
            yield module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)
