"""What a report of an exception may say: words and lines that the student has handed in.

The student's process makes the report, and sees hidden cases. A class could be named after one, a
line of code could hold it, and the names of functions could spell it.
"""

import ast
import builtins
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

from autograder.names import parsed
from labkit.checks.names import bound_names

WORD = re.compile(r"\w+")
LINE = re.compile(
    r"line (?P<number>[0-9]{1,6})(?:, in (?P<function>[\w.<>]{1,100}))?(?:: (?P<code>.*))?"
)
FUNCTION = re.compile(r"\b(?:def|class|lambda|for)\b")
KNOWN = frozenset(
    (
        *dir(builtins),
        *("MissingName", "WireError", "CannotFollow", "Seeded"),  # of labkit
        *("LinAlgError", "AxisError", "OutOfMemoryError", "EinopsError"),  # of libraries
    )
)
MOST_CHARS = 200  # of a line, as the executor cuts it
MOST_NAME_CHARS = 100
MOST_CODE_CHARS = 1 << 18  # of all files together, to be parsed in seconds
PART = ", at `"  # the part of a line that failed follows
UNNAMED = {
    ast.Lambda: "<lambda>",
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *UNNAMED)
INSIDE = ("body", "elt", "key", "value", "generators")  # decorators and defaults are outside
UNKNOWN = "a line"


class OwnWords:
    """The words, lines and functions of a student's files, cells included."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._sources = list(sources)
        text = "\n".join(self._sources)
        self._words = KNOWN.union(WORD.findall(text))
        self._lines = {line.strip() for line in text.splitlines()}
        self._n_lines = max((len(each.splitlines()) for each in self._sources), default=0)

    @cached_property
    def _in_order(self) -> list[str]:
        return sorted(self._lines)

    @cached_property
    def _functions(self) -> set[str]:
        """The qualified names of all functions: the parts of one could spell a case together.

        A cell that IPython alone can read has those of its outermost functions.
        """
        found, n_left = {"<module>"}, MOST_CODE_CHARS
        for source in filter(FUNCTION.search, self._sources):
            if len(source) <= n_left:
                n_left -= len(source)
                tree = parsed(source)
                found.update(_functions_in(tree) if tree else bound_names(source))
        return found

    def of_report(self, reply: dict) -> dict:
        """The report as the channel has bounded it, with known names and lines alone."""
        if reply.get("ok") is not False or not isinstance(reply.get("lines"), list):
            return reply
        kinds, function = (reply["kind"], *reply["kinds"]), reply["function"]
        lines = [self._line(line) for line in reply["lines"]]
        known = {
            "kind": next((kind for kind in kinds if kind in self._words), "Exception"),
            "lines": [line for line in lines if line != UNKNOWN] or lines[:1],
            "function": function if function in self._functions else "",
        }
        return reply | known

    def _line(self, text: str) -> str:
        """As much of "line 4, in f: return g(x), at `g(x)`" as is known."""
        found = LINE.fullmatch(text)
        if found is None or int(found["number"]) > self._n_lines:
            return UNKNOWN
        said, function, code = f"line {int(found['number'])}", found["function"], found["code"]
        said += f", in {function}" * (function in self._functions)
        return f"{said}: {code}" if code and self._has(code, len(text) == MOST_CHARS) else said

    def _has(self, code: str, is_cut: bool) -> bool:
        """Whether a line of code stands in the files, and the part of it that failed in the line.

        is_cut: one of both may end too early.
        """
        if code in self._lines:
            return True
        for found in re.finditer(PART, code):
            line, part = code[: found.start()], code[found.end() :]
            if line in self._lines and part.removesuffix("`") in line:
                return True
        return is_cut and self._is_begun(code)

    def _is_begun(self, code: str) -> bool:
        """Whether a line, with the mark of its part, begins with this code."""
        place = bisect_left(self._in_order, code)
        if place < len(self._in_order) and self._in_order[place].startswith(code):
            return True
        marks = (PART[:n] for n in range(1, len(PART)))
        return any(code.endswith(each) and code.removesuffix(each) in self._lines for each in marks)


def _functions_in(tree: ast.Module) -> Iterator[str]:
    """The names of its functions and classes, as Python qualifies them."""
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, above = todo.pop()
        inside = above
        if isinstance(node, SCOPES):
            name = above + UNNAMED.get(type(node), getattr(node, "name", ""))
            if len(name) > MOST_NAME_CHARS:
                continue
            yield name
            inside = f"{name}." if isinstance(node, ast.ClassDef) else f"{name}.<locals>."
        for field, value in ast.iter_fields(node):
            where = inside if field in INSIDE else above
            parts = value if isinstance(value, list) else [value]
            todo += [(part, where) for part in parts if isinstance(part, ast.AST)]
