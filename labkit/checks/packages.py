"""The imports and the syntax of a notebook that the grader has, and those that it lacks."""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator

from labkit.checks.names import MAGIC, text_of

# What labkit needs, what students import most, and what annotates or reshapes tensors.
PACKAGES = (
    "beartype", "einops", "ipywidgets", "jaxtyping", "matplotlib", "numba", "numpy", "pandas",
    "safetensors", "scipy", "sympy", "tokenizers", "torch", "tqdm", "transformers",
    "typing_extensions",
)  # fmt: skip
PYTHON = (3, 11)  # the oldest that the kit supports: a grader may run it
GIVEN = "the standard library, labkit, the files beside the notebook, and " + ", ".join(PACKAGES)
_KNOWN = sys.stdlib_module_names | {"IPython", "labkit", "labkit_data", *PACKAGES}
_NEWER = {  # of the standard library, since that Python
    "copy": {"replace"},
    "itertools": {"batched"},
    "math": {"fma", "sumprod"},
    "random": {"binomialvariate"},
    "typing": {"NoDefault", "ReadOnly", "TypeAliasType", "TypeIs", "override"},
    "warnings": {"deprecated"},
}


def not_given(source: str, beside: Iterable[str] = ()) -> list[str]:
    """The packages that code imports and that the grader lacks, in order.

    beside: the modules that lie beside the notebook. What stands in a `try` may fail.
    """
    known = _KNOWN.union(beside)
    found = (name.partition(".")[0] for name in _imported(_read(source)[1]))
    return [name for name in dict.fromkeys(found) if name not in known]


def too_new(source: str) -> list[str]:
    """What code uses that the oldest Python lacks: names of the standard library, and syntax."""
    text, tree = _read(source)
    used = [name for name in _imported(tree) if "." in name]
    used += [text_of(each) for each in ast.walk(tree) if isinstance(each, ast.Attribute)]
    split = ((name, *name.rpartition(".")) for name in dict.fromkeys(used))
    found = [f"`{name}`" for name, module, _, end in split if end in _NEWER.get(module, ())]
    try:
        ast.parse(text, feature_version=PYTHON)
    except SyntaxError as error:
        found.append(re.split(" (?:is|are) only", error.msg)[0].lower())
    return found + ["quotes or backslashes in an f-string's braces"] * _has_newer_f_string(text)


def _read(source: str) -> tuple[str, ast.Module]:
    """A cell without magics, and its tree; nothing of what this Python cannot read."""
    text = MAGIC.sub(r"\1pass", source)
    try:
        return text, ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "", ast.parse("")


def _imported(node: ast.AST) -> Iterator[str]:
    """What a tree imports, with modules, and without what stands in a `try`."""
    todo = [node]
    while todo:
        match node := todo.pop():
            case ast.Try():
                continue
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from (f"{module}.{each.name}" for each in names)
        todo += reversed([*ast.iter_child_nodes(node)])


def _has_newer_f_string(text: str) -> bool:
    """Whether braces of an f-string hold its own quote, a backslash, a comment or a line break."""
    around: list[str] = []  # the quotes of the f-strings that a token stands in
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        braces = around[:-1] if kind in ("FSTRING_MIDDLE", "FSTRING_END") else around
        breaks = kind == "COMMENT" or (kind == "NL" and any(len(each) == 1 for each in braces))
        if braces and (breaks or any(each in token.string for each in ("\\", *braces))):
            return True
        if kind == "FSTRING_START":
            around.append(token.string.lstrip("fFrR"))
        elif kind == "FSTRING_END":
            around.pop()
    return False
