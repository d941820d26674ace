"""Questions about an answer that passes: which claim fails without one of its lines?

The key comes from the checks: each statement of the code is left out once, and the checks are
played on what remains. Nothing here earns points.
"""

import ast
import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from textwrap import dedent
from typing import Any

from labkit.bridge.local import local_student
from labkit.checks import card
from labkit.checks.core import RAISES, Check, Finding, play_check
from labkit.checks.kernel import time_limit
from labkit.checks.names import MAGIC, bound_names
from labkit.checks.unjudged import judged

LIMIT_S = 2  # for all checks of an exercise together
N_OTHERS = 3  # claims that hold, beside the one that fails
TRIVIAL = tuple(f"{RAISES} {kind}" for kind in ("NameError", "UnboundLocalError", "AttributeError"))


@dataclass(frozen=True, slots=True)
class Change:
    """A definition with one statement left out, or with one of its lines changed.

    line: its place in the cell, from 1. text: the statement as it is written. instead: the changed
    line, "" if the statement is left out. definition: what remains, ready to run.
    """

    line: int
    text: str
    instead: str
    definition: str


@dataclass(frozen=True, slots=True)
class Question:
    """Which of these claims fails after the change? right: the place of the one that does.

    finding: what its check says then.
    """

    change: Change
    claims: tuple[str, ...]
    right: int
    finding: Finding


def definition_in(cells: Sequence[str], name: str) -> str:
    """The newest of these cells that defines a function or class of this name; "" if none does."""
    for source in reversed(cells):
        if name in bound_names(source) and _definition(source, name) is not None:
            return source
    return ""


def changes_of(source: str, name: str) -> list[Change]:
    """Every small change of the definition of `name` in a cell, in the order of its lines.

    A statement is left out, or a number, a comparison or a sign is changed. Docstrings, messages
    and statements that share a line with others stay.
    """
    found = _definition(source, name)
    if found is None:
        return []
    lines = _plain(source).splitlines()
    first = min([found.lineno, *(each.lineno for each in found.decorator_list)]) - 1
    changes = []
    for statement in _statements(found):
        for start, end, text, instead in _edits(statement, lines):
            kept = [*lines[first:start], instead, *lines[end : found.end_lineno]]
            shown = "" if instead.strip() == "pass" else instead.strip()
            changes.append(Change(start + 1, text, shown, "\n".join(kept)))
    return changes


def questions_of(
    changes: Sequence[Change], play: Callable[[str], Sequence[Finding]]
) -> Iterator[Question]:
    """A question for each change that has an interesting key.

    play(definition): what the checks find then; an exception, as TimeoutError, leaves the change
    out. A key is not interesting if nothing fails, if (nearly) all fails, or if a name is missing.
    """
    for change in changes:
        try:
            findings = play(change.definition)
        except Exception:
            continue
        failed = [each for each in findings if each.status == "failed"]
        held = [each.check.claim for each in findings if each.passed]
        if not failed or len(held) < 2 or any(each.cause in TRIVIAL for each in failed):
            continue
        rng = Random(change.definition)  # equal code, equal question
        claims = [failed[0].check.claim, *rng.sample(held, min(N_OTHERS, len(held)))]
        rng.shuffle(claims)
        right = claims.index(failed[0].check.claim)
        yield Question(change, tuple(claims), right, failed[0])


def play_here(
    namespace: Mapping[str, Any], checks: Sequence[Check], cases: Sequence[Any]
) -> Callable[[str], list[Finding]]:
    """play(definition) for a notebook's names: the visible cases, in this process.

    The names themselves stay as they are. Raises TimeoutError after LIMIT_S.
    """

    def play(definition: str) -> list[Finding]:
        names = dict(namespace)
        try:
            with time_limit(LIMIT_S):
                exec(compile(definition, "<without a line>", "exec"), names)
                student = local_student(names)
                return judged([play_check(check, student, cases) for check in checks])
        except KeyboardInterrupt:
            raise TimeoutError(f"the code ran for more than {LIMIT_S} s") from None

    return play


@dataclass(frozen=True, slots=True)
class Shown:
    """A question, or what is said of an answer, as a notebook shows it."""

    exercise: str
    sentence: str
    question: Question | None = None

    def __str__(self) -> str:
        if (asked := self.question) is None:
            return self.sentence
        code = [f"    {line}" for line in _code(asked.change).splitlines()]
        claims = [f"  {i}. {claim}" for i, claim in enumerate(asked.claims, 1)]
        return "\n".join([self.sentence, *code, *claims, self._how()])

    def _how(self) -> str:
        return f'Answer with its number, for instance check.why("{self.exercise}", 1).'

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        rows = [f"<div>{card.with_code(self.sentence)}</div>"]
        if (asked := self.question) is not None:
            claims = "".join(f"<li>{card.with_code(claim)}</li>" for claim in asked.claims)
            rows += [f"<pre>{html.escape(_code(asked.change))}</pre>", f"<ol>{claims}</ol>"]
            rows += [f"<div>{html.escape(self._how())}</div>"]
        return {
            "text/plain": str(self),
            "text/html": f'<div style="{card.CARD}">{"".join(rows)}</div>',
        }


class Asked:
    """The questions about one definition: one at a time, each once."""

    def __init__(self, exercise: str, source: str, questions: Iterator[Question]) -> None:
        self.exercise, self.source = exercise, source
        self._questions, self._open = questions, next(questions, None)
        self._n = 0

    def ask(self) -> Shown:
        """The open question."""
        if self._open is None:
            said = "No other line" if self._n else "No line"
            return Shown(
                self.exercise,
                f"{said} of `{self.exercise}` gives a question: after each change all claims "
                "hold, or hardly any does.",
            )
        line, is_cut = self._open.change.line, not self._open.change.instead
        what = f"Without line {line} of your cell" if is_cut else f"With line {line} changed"
        said = f"{what}, one of these claims fails. Which one?"
        return Shown(self.exercise, said, self._open)

    def answer(self, choice: int) -> Shown:
        """Whether claim number `choice` is the one that fails; then the next question is open.

        Raises: ValueError for a number that no claim has.
        """
        if (asked := self._open) is None:
            return self.ask()
        if not (isinstance(choice, int) and 1 <= choice <= len(asked.claims)):
            raise ValueError(f"wanted a number from 1 to {len(asked.claims)}, got {choice!r}")
        self._open, self._n = next(self._questions, None), self._n + 1
        verdict = "Right." if choice - 1 == asked.right else f"No, it is claim {asked.right + 1}."
        more = f'For another question, run check.why("{self.exercise}").' if self._open else ""
        said = f"{verdict} Its check says: {asked.finding.message} {more}"
        return Shown(self.exercise, said.strip())


def _plain(source: str) -> str:
    return MAGIC.sub(r"\1pass", source)


def _definition(source: str, name: str) -> ast.FunctionDef | ast.ClassDef | None:
    try:
        body = ast.parse(_plain(source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    kinds = ast.FunctionDef | ast.ClassDef
    found = [each for each in body if isinstance(each, kinds) and each.name == name]
    return found[-1] if found else None


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements inside the functions of a definition, outer ones first."""
    is_function = isinstance(node, ast.FunctionDef)
    for i, each in enumerate(_blocks(node)):
        is_code = not isinstance(each, ast.FunctionDef | ast.ClassDef | ast.Pass)
        is_docstring = is_function and i == 0 and isinstance(each, ast.Expr | ast.Constant)
        if is_code and not is_docstring and not isinstance(node, ast.ClassDef):
            yield each
        yield from _statements(each)


def _edits(statement: ast.stmt, lines: Sequence[str]) -> Iterator[tuple[int, int, str, str]]:
    """(first line, line after the last, text, instead) for each edit of a statement."""
    start, end = statement.lineno - 1, statement.end_lineno or statement.lineno
    indent = lines[start][: statement.col_offset]
    is_alone = not indent.strip() and not lines[end - 1][statement.end_col_offset :].strip(" ;")
    if is_alone:
        yield start, end, dedent("\n".join(lines[start:end])), f"{indent}pass"
    if isinstance(statement, ast.Raise):
        return
    for node in _own_expressions(statement):
        if (other := _changed(node)) and node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()  # columns count bytes
            before, after = line[: node.col_offset].decode(), line[node.end_col_offset :].decode()
            text = lines[node.lineno - 1].strip()
            yield node.lineno - 1, node.lineno, text, f"{before}{other}{after}"


def _own_expressions(statement: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement, without those in its blocks and in texts."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr | ast.keyword | ast.Slice | ast.comprehension):
            if isinstance(child, ast.expr) and not isinstance(child, ast.JoinedStr):
                yield child
            if not isinstance(child, ast.JoinedStr):
                yield from _own_expressions(child)


_OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
}  # fmt: skip


def _changed(node: ast.expr) -> str:
    """The text of an expression with another number, comparison or sign; "" if it has none."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return str(value + 1)
        case ast.Compare(left, [operator], right) if type(operator) in _OTHER:
            return ast.unparse(ast.Compare(left, [_OTHER[type(operator)]()], right))
        case ast.BinOp(left, operator, right) if type(operator) in _OTHER:
            return ast.unparse(ast.BinOp(left, _OTHER[type(operator)](), right))
    return ""


def _code(change: Change) -> str:
    return f"{change.text}\n# changed to:\n{change.instead}" if change.instead else change.text


def _blocks(node: ast.AST) -> list[ast.stmt]:
    parts = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
    parts += [handler.body for handler in getattr(node, "handlers", [])]
    return [each for part in parts if isinstance(part, list) for each in part]
