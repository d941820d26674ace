"""What a person should look at before trusting that a submission is its student's own work.

There are four signs: the same answers, changed parts of the handed-out notebook, inference servers,
and TODO lines that are gone. Finding nothing proves nothing: code is read and never run.
"""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.builder.blank import STUB
from autograder.names import parsed, squeeze
from autograder.pages.evidence.flags import KINDS, Flag, write_flags
from autograder.pages.evidence.handed_in import (
    HandedIn,
    Starter,
    lines_of,
    read_handed_in,
    starter_of,
)
from autograder.pages.evidence.hints import write_hints
from autograder.record.results import Result

SERVERS = frozenset(
    "vllm sglang lmdeploy tensorrt_llm llama_cpp mlc_llm exllamav2 ctranslate2 ollama "
    "text_generation aphrodite lightllm".split()
)
SHELL_SERVER = re.compile(rf"^[ \t]*[!%].*\b({'|'.join(sorted(SERVERS))})\b", re.MULTILINE)
TODO, UNWRITTEN = map(squeeze, STUB)
FEWEST_OWN_CHARS = 600
MAX_SEEN = 6


def write_integrity(out: Path, lab: str, results: Sequence[Result]) -> Path:
    """Look at all submissions of a lab; write its flags, and what they say of hints.

    Returns: the path of the flags' page.
    """
    own = [result for result in results if result.lab == lab]
    everybody = [read_handed_in(out, lab, result.student) for result in own]
    write_hints(out, lab, everybody)
    return write_flags(out, lab, _flags(lab, own, everybody))


def flags_of(out: Path, lab: str, results: Sequence[Result]) -> list[Flag]:
    """All flags of one lab, by kind and then by name."""
    return _flags(lab, results, [read_handed_in(out, lab, each.student) for each in results])


def _flags(lab: str, results: Sequence[Result], everybody: list[HandedIn]) -> list[Flag]:
    starter = starter_of(lab)
    groups = {result.student: result.group for result in results}
    found = [*_same_answers(everybody, starter, groups)]
    for each in everybody:
        servers = {
            name: [server for piece in pieces for server in servers_in(piece)]
            for name, pieces in each.pieces.items()
        }
        seen = {
            "given": _changed_parts(each, starter),
            "server": " ".join(
                f"In {name or 'a cell of the student'}: {_listed(names)}."
                for name, names in servers.items()
                if names and name not in starter.prose
            ),
            "todo": _listed(_without_todo(each, starter)),
        }
        found += [Flag(kind, (each.student,), text) for kind, text in seen.items() if text]
    order = list(KINDS)
    return sorted(found, key=lambda flag: (order.index(flag.kind), flag.students, flag.seen))


def servers_in(source: str) -> list[str]:
    """The inference servers that code imports, or installs and starts from the shell."""
    found = set(SHELL_SERVER.findall(source))
    tree = parsed(source) if "import" in source else None
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return sorted(found & SERVERS)


def _same_answers(
    everybody: list[HandedIn], starter: Starter, groups: dict[str, str]
) -> Iterator[Flag]:
    """Who handed in the same, but for white space and the student id, and not as one group."""
    by_answers: dict[str, list[str]] = {}
    for each in everybody:
        own = {k: v for k, v in starter.own_parts(each.answers).items() if k != "student_id"}
        if sum(map(len, own.values())) >= FEWEST_OWN_CHARS:
            by_answers.setdefault(json.dumps(own, sort_keys=True), []).append(each.student)
    for names in by_answers.values():
        as_one = {("group", groups[name]) if groups[name] else ("alone", name) for name in names}
        if len(as_one) > 1:
            seen = "Every answer is the same, letter for letter, but for white space."
            yield Flag("same", tuple(sorted(names)), seen)


def _changed_parts(each: HandedIn, starter: Starter) -> str:
    """Locked cells and given lines of open cells that are no longer there, in a sentence."""
    sentences = []
    missing = [name for name, text in starter.given.items() if squeeze(text) not in each.sources]
    if each.sources and missing:
        n, of = len(missing), len(starter.given)
        sentences.append(f"{n} of {of} locked cells are missing or changed: {_listed(missing)}.")
    changed = [
        name for name, stub, lines in _filled_in(each, starter) if stub - {TODO, UNWRITTEN} - lines
    ]
    if changed:
        sentences.append(f"Signature or docstring changed: {_listed(changed)}.")
    return " ".join(sentences)


def _without_todo(each: HandedIn, starter: Starter) -> list[str]:
    """The cells that are not written and have no TODO line any more."""
    return [
        name
        for name, _, lines in _filled_in(each, starter)
        if UNWRITTEN in lines and TODO not in lines
    ]


def _filled_in(
    each: HandedIn, starter: Starter
) -> Iterator[tuple[str, frozenset[str], frozenset[str]]]:
    """The TODO cells that were touched: name, lines as handed out, lines as handed in."""
    for name, stub in starter.lines.items():
        text = each.answers.get(name, "")
        if TODO in stub and text.strip() and text != starter.open[name]:
            yield name, stub, frozenset(lines_of(text))


def _listed(names: Sequence[str]) -> str:
    """The first few in a row."""
    more = f" and {len(names) - MAX_SEEN} more" if len(names) > MAX_SEEN else ""
    return ", ".join(names[:MAX_SEEN]) + more
