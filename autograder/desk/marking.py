"""Actions of the desk on a form: find its answers, and give them marks."""

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from autograder.desk.acts import ConflictError
from autograder.desk.answers import Answer, Answers, AnswerSheet
from autograder.desk.groups import ALONE, BLANK, OWN, SAME, Group
from autograder.desk.rubric import Question
from autograder.desk.shares import Shares
from autograder.desk.states import CurrentItem, State, digest_of, points_of
from autograder.desk.store import MarkStore
from autograder.errors import Refusal
from autograder.record.marks import as_points

OPEN_S = 300.0
MOST_READ = 500  # answers that are kept as they were shown
Form = Mapping[str, Sequence[str]]


class Progress(NamedTuple):
    """How many answers are read, of how many; of the person's own, the same; and how many
    submissions have no such cell."""

    n_done: int = 0
    n_all: int = 0
    n_own_done: int = 0
    n_own: int = 0
    n_unread: int = 0


class Desk:
    """The answers of an output folder, the marks they have, and who has which one open."""

    def __init__(self, answers: Answers, store: MarkStore, shares: Shares) -> None:
        self.answers, self.store, self.shares = answers, store, shares
        self._open: dict[str, tuple[str, float]] = {}
        self._read: dict[str, Answer] = {}  # by digest, oldest first

    def progress(self, who: str) -> list[tuple[Question, Progress]]:
        """The progress of each question, for all people and for one person.

        Notebooks are read only for questions that are given to some people.
        """
        waiting, given = self.store.waiting(), self.shares.all()
        rows = []
        for question in self.answers.questions():
            name = (question.lab, question.name)
            handed_in = [each for each in self.answers.results() if each.lab == question.lab]
            everybody = {each.student for each in handed_in if each.score is not None}
            own = everybody
            if name in given and (sheet := self.answers.sheet(*name)):
                own = {sheet.answers[each].key.student for each in self.shares.of(sheet, who)}
            wait = waiting.get(name, set())
            far = (everybody - wait, everybody, own - wait, own)
            rows.append((question, Progress(*map(len, far), len(handed_in) - len(everybody))))
        return rows

    def next_waiting(self, sheet: AnswerSheet, who: str, after: str = "") -> str | None:
        """The next answer that waits for this person and that no one else has open; from `after`
        on, then from the first."""
        own = self.shares.of(sheet, who)
        waiting = [
            name for name in self._waiting(sheet) if name in own and not self.opened_by(name, who)
        ]
        later = [name for name in waiting if name > after]
        return next(iter(later or [name for name in waiting if name != after]), None)

    def _waiting(self, sheet: AnswerSheet) -> Iterator[str]:
        states = self.store.states(sheet.question.lab, sheet.question.name)
        for name, answer in sheet.answers.items():
            if states.get(answer.key.student, State()).waits:
                yield name

    def opened_by(self, name: str, who: str) -> str | None:
        """Who else opened this answer in the last minutes."""
        other, when = self._open.get(name, (who, 0.0))
        return other if other != who and monotonic() - when < OPEN_S else None

    def open(self, name: str, who: str) -> None:
        """Remember that a person looks at an answer."""
        if not self.opened_by(name, who):
            self._open[name] = (who, monotonic())

    def close(self, name: str, who: str) -> None:
        """Forget it."""
        if self._open.get(name, ("", 0.0))[0] == who:
            del self._open[name]

    def group(self, sheet: AnswerSheet, answer: Answer) -> Group:
        """The answers that are like this one, without those that were taken out of their group."""
        split = self.store.split_students(sheet.question.lab, sheet.question.name)
        if answer.key.student in split:
            return Group(ALONE, (answer.id,))
        found = sheet.groups[answer.id]
        kept = tuple(name for name in found.members if sheet.answers[name].key.student not in split)
        is_alone = len(kept) == 1 and found.kind not in (BLANK, OWN)
        return Group(ALONE if is_alone else found.kind, kept)

    def group_seen(self, sheet: AnswerSheet, group: Group) -> str:
        """A digest of the members of a group and of their texts."""
        texts = [(name, sheet.answers[name].digest) for name in group.members]
        return digest_of(repr(texts))

    def read_before(self, answer: Answer, seen: str) -> Answer | None:
        """The answer as a person read it, if it has changed since and is still known here.

        seen: what the person's form says; "" if there is no form.
        """
        self._read[answer.digest] = answer
        while len(self._read) > MOST_READ:
            del self._read[next(iter(self._read))]
        digest = seen.partition("-")[2]
        before = self._read.get(digest) if digest != answer.digest else None
        return before if before and before.key == answer.key else None

    def mark(self, sheet: AnswerSheet, answer: Answer, form: Form, who: str) -> None:
        """Give the marks of a form to one answer, or to all waiting answers of its group.

        Raises: Refusal if the form gives nothing that can be given; ConflictError.
        """
        question = sheet.question
        items = self.store.items(question.lab, question.name)
        state = state_from(form, items, question)
        given, states = {answer.key: state}, self.store.states(question.lab, question.name)
        seen = {answer.key: one(form, "seen")}
        if one(form, "together"):
            group = self.group(sheet, answer)
            if one(form, "group") != self.group_seen(sheet, group):
                raise ConflictError(
                    "The group is another one than you saw: an answer in it has changed. Your "
                    "mark is not saved. Look at the group, then give the mark again."
                )
            for name in group.members:
                key = sheet.answers[name].key
                if key != answer.key and states[key.student].waits:
                    given[key] = state
                    seen[key] = states[key.student].seen_with(sheet.answers[name].digest)
        what = "marked" if len(given) == 1 else f"marked in a group of {len(given)}"
        self.store.give(given, who, one(form, "request"), seen, what)
        self.close(answer.id, who)


def state_from(form: Form, items: Sequence[CurrentItem], question: Question) -> State:
    """The mark that a form gives. Raises: Refusal."""
    known = {str(item.id): item for item in items}
    chosen = [known[each] for each in form.get("item", ()) if each in known]
    text, comment = one(form, "points").strip(), one(form, "comment").strip()
    groups = [item.one_of for item in chosen if item.one_of]
    if len(groups) != len(set(groups)):
        raise Refusal("Choose one of the items that exclude each other.")
    if not text and not chosen:
        raise Refusal("Choose an item or type points. The key 0 gives no points.")
    if text:
        points = number(text)
        if points > question.points:
            raise Refusal(f"Give {question.points:g} at most.")
    else:
        worth = {item.id: item.points for item in chosen}
        points = points_of(worth, worth, question.points)
    return State(points, comment, tuple(sorted(item.id for item in chosen)), waits=False)


def typed_points(state: State, items: Sequence[CurrentItem], at_most: float) -> str:
    """The points that a person typed; "" if they are the sum of the items."""
    total = points_of(state.items, {item.id: item.points for item in items}, at_most)
    return "" if state.items and state.points == total else as_points(state.points)


def number(text: str, lowest: float = 0.0) -> float:
    """A number of points that a person typed. Raises: Refusal."""
    try:
        value = round(float(text.replace(",", ".")), 4)
    except ValueError:
        value = float("nan")
    if not lowest <= value <= 1000:
        raise Refusal(f"Type a number of points from {lowest:g} on, not {text[:20]!r}.")
    return value


def one(form: Form, name: str) -> str:
    """One field of a form; "" if it is not there."""
    return (form.get(name) or [""])[0]


def is_together(group: Group) -> bool:
    """Whether marks go to the whole group unless the person says otherwise."""
    return group.kind in (BLANK, SAME)
