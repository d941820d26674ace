"""What a person should look at before trusting that a submission is its student's own work."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograder.builder.blank import STUB
from autograder.course.roster import Person, Roster, RosterError
from autograder.names import squeeze
from autograder.pages.evidence.flags import KINDS, Flag, write_flags
from autograder.pages.evidence.handed_in import (
    HandedIn,
    Starter,
    lines_of,
    read_handed_in,
    starter_of,
)
from autograder.pages.evidence.signs import attempts_in, imports_in, servers_in, texts_assigned
from autograder.record.results import Result
from labkit.models.own_numbers import folded, printable

FEWEST_OWN_CHARS = 600
MAX_SEEN, MAX_SEEN_CHARS = 6, 80


def write_integrity(
    out: Path, lab: str, results: Sequence[Result], roster: Roster | None = None
) -> Path:
    """Look at all submissions of a lab and write its flags; returns the page's path."""
    own = [result for result in results if result.lab == lab]
    return write_flags(out, lab, flags_of(out, lab, own, roster))


def flags_of(
    out: Path, lab: str, results: Sequence[Result], roster: Roster | None = None
) -> list[Flag]:
    """All flags of one lab, by kind and then by name."""
    starter = starter_of(lab)
    groups = {result.student: result.group for result in results}
    everybody = [read_handed_in(out, lab, result.student) for result in results]
    parts = {each.student: starter.own_parts(each.answers) for each in everybody}
    ids = {each.student: student_id_in(each) for each in everybody}
    found = [
        *_same_work(everybody, parts, groups),
        *_shared_ids(ids, groups),
        *_shared_accounts(everybody, groups),
    ]
    names = {folded(name) for name in ids}
    given = [*starter.open.values(), *starter.given.values()]
    handed_out = {sign for text in given for sign in attempts_in(text)}
    imported = {name: module for text in given for name, module in imports_in(text).items()}
    for each, result in zip(everybody, results, strict=True):
        found += _other_ids(result, ids[each.student], names, roster)
        found += _alone(each, starter)
        own = sorted(parts[each.student].keys() - starter.prose)
        code = [(name, piece) for name in own for piece in each.pieces[name]]
        found += _signs(each.student, code, handed_out, imported)
    order = list(KINDS)
    return sorted(found, key=lambda flag: (order.index(flag.kind), flag.students, flag.seen))


def student_id_in(handed_in: HandedIn) -> str:
    """The student id that stands in the code, as ids are compared; "" if none does."""
    texts = [
        text
        for source in handed_in.answers.values()
        if "student_id" in source
        for text in texts_assigned(source, "student_id")
    ]
    return folded(texts[-1]) if texts else ""


def _same_work(
    everybody: list[HandedIn], parts: dict[str, dict[str, str]], groups: dict[str, str]
) -> Iterator[Flag]:
    """Who handed in the same. parts: each student's own lines by cell."""
    by_file: dict[str, list[str]] = {}
    by_answers: dict[str, list[HandedIn]] = {}
    for each in everybody:
        own = {name: part for name, part in parts[each.student].items() if name != "student_id"}
        is_blank = bool(each.answers) and not own
        if each.digest and not is_blank:
            by_file.setdefault(each.digest, []).append(each.student)
        if sum(map(len, own.values())) >= FEWEST_OWN_CHARS:
            text = json.dumps(own, sort_keys=True).encode()
            by_answers.setdefault(hashlib.sha256(text).hexdigest(), []).append(each)
    for students in _shared(by_file, groups):
        yield Flag("same_file", students, "The files are the same, byte for byte.")
    for work in by_answers.values():
        students = _strangers([each.student for each in work], groups)
        if len(students) > 1 and len({each.digest for each in work}) > 1:
            yield Flag(
                "same_answers",
                students,
                "Every answer is the same, letter for letter, but for white space.",
            )


def _shared_ids(ids: dict[str, str], groups: dict[str, str]) -> Iterator[Flag]:
    by_id: dict[str, list[str]] = {}
    for student, student_id in ids.items():
        if student_id:
            by_id.setdefault(student_id, []).append(student)
    for students in _shared(by_id, groups):
        yield Flag("same_id", students, f"All of them write `{_short(ids[students[0]])}`.")


def _shared_accounts(everybody: list[HandedIn], groups: dict[str, str]) -> Iterator[Flag]:
    by_account: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for each in everybody:
        names |= each.accounts
        for account in each.accounts:
            by_account.setdefault(account, []).append(each.student)
    for account, students in by_account.items():
        if len(strangers := _strangers(students, groups)) > 1:
            seen = f"The account of {_short(names[account])} ran cells in each of them."
            yield Flag("same_account", strangers, seen)


def _other_ids(result: Result, own: str, names: set[str], roster: Roster | None) -> Iterator[Flag]:
    student = result.student
    if own and own != folded(student) and own in names:
        yield Flag("other_id", (student,), f"`{_short(own)}` is the name of another submission.")
    if not own or roster is None:
        return
    try:
        person = roster.find(student, result.file_name)
    except RosterError:
        return
    known = _ids_of(person)
    if known and own not in known:
        owners = [other.name for other in roster.people if own in _ids_of(other)]
        whose = f", which is that of {_short(owners[0])}" if owners else ""
        seen = f"The notebook says `{_short(own)}`{whose}; the roster has `{sorted(known)[0]}`."
        yield Flag("other_id", (student,), seen)


def _alone(each: HandedIn, starter: Starter) -> Iterator[Flag]:
    """What one submission shows by itself."""
    if len(each.accounts) > 1:
        names = _listed(sorted(each.accounts.values()))
        seen = f"Colab notes {len(each.accounts)} accounts: {names}."
        yield Flag("accounts", (each.student,), seen)
    changed = _changed_starter(each, starter)
    if changed:
        yield Flag("starter", (each.student,), changed)


def _signs(
    student: str, code: list[tuple[str, str]], handed_out: set[str], imported: dict[str, str]
) -> Iterator[Flag]:
    """What code reaches for. handed_out, imported: signs and imports that everybody has."""
    known = dict(imported)
    for _, source in code:
        known |= imports_in(source)
    servers: dict[str, list[str]] = {}
    attempts: dict[str, list[str]] = {}
    for name, source in code:
        signs = [sign for sign in attempts_in(source, known) if sign not in handed_out]
        servers.setdefault(name, []).extend(servers_in(source))
        attempts.setdefault(name, []).extend(signs)
    for kind, found in (("server", servers), ("grader", attempts)):
        places = [
            f"In {name or 'a cell of the student'}: {_listed(signs)}."
            for name, signs in found.items()
            if signs
        ]
        if places:
            yield Flag(kind, (student,), " ".join(places[:MAX_SEEN]))


def _changed_starter(each: HandedIn, starter: Starter) -> str:
    """Locked cells and given lines of open cells that are no longer there, in a sentence."""
    sentences = []
    missing = [name for name, text in starter.given.items() if squeeze(text) not in each.sources]
    if each.sources and missing:
        n, of = len(missing), len(starter.given)
        sentences.append(f"{n} of {of} locked cells are missing or changed: {_listed(missing)}.")
    todo, unwritten = map(squeeze, STUB)
    changed, unmarked = [], []
    for name, stub in starter.lines.items():
        text = each.answers.get(name, "")
        if todo not in stub or not text.strip() or text == starter.open[name]:
            continue
        lines = set(lines_of(text))
        if stub - {todo, unwritten} - lines:
            changed.append(name)
        if unwritten in lines and todo not in lines:
            unmarked.append(name)
    if changed:
        sentences.append(f"Signature or docstring changed: {_listed(changed)}.")
    if unmarked:
        sentences.append(f"Not written, and the TODO marker is gone: {_listed(unmarked)}.")
    return " ".join(sentences)


def _shared(by_key: dict[str, list[str]], groups: dict[str, str]) -> Iterator[tuple[str, ...]]:
    for students in by_key.values():
        if len(strangers := _strangers(students, groups)) > 1:
            yield strangers


def _strangers(students: list[str], groups: dict[str, str]) -> tuple[str, ...]:
    """The students, unless all of them handed in as one group."""
    names = tuple(sorted(set(students)))
    as_one = {("group", groups[name]) if groups[name] else ("alone", name) for name in names}
    return names if len(as_one) > 1 else ()


def _ids_of(person: Person) -> set[str]:
    return set(map(folded, person.own_names))


def _listed(items: Sequence[str]) -> str:
    """The first few in a row, each once."""
    distinct = [_short(item) for item in dict.fromkeys(items)]
    more = f" and {len(distinct) - MAX_SEEN} more" if len(distinct) > MAX_SEEN else ""
    return ", ".join(distinct[:MAX_SEEN]) + more


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= MAX_SEEN_CHARS else f"{text[:MAX_SEEN_CHARS]}…"
