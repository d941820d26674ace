"""What runs ahead is looked at as if it had not, and saves nearly all messages."""

from __future__ import annotations

import random

import pytest
import torch

from autograder.judging.channel import RemoteChannel
from autograder.judging.client import Zygote
from autograder.judging.ends import Misplayed, StudentEnded, Tampered
from autograder.judging.steady import SteadyChannel
from autograder.judging.wall import ChildSettings
from autograder.judging.walled import Child
from labkit.bridge.requests import scripted, value_of
from labkit.bridge.student import Offer
from labkit.chance.paths import NotRepeatable
from labkit.checks.law import Law, exact_law, offered

SAMPLERS = """
import sys, types, torch

class Size:
    "What is known of a model: how much it has noted, but not what it says."
    def __init__(self, more): self.n, self.more = 0, more
    def probs(self, text):
        self.n += 1
        raise LookupError
    def note(self, length): self.n += 1
    def size(self):
        self.n += 1
        return self.n - 1 + self.more
sys.modules["twins"] = types.SimpleNamespace(Size=Size)

def kept(model):
    "Three tokens, each by two questions to a model and one to chance."
    text = []
    for _ in range(3):
        n = model.size() + model.size()
        model.note(len(text))
        weights = model.probs(text)
        text.append(int(torch.multinomial(weights, 1)) + 2 * int(torch.rand(1) < 0.25))
    return text

n_calls = 0

def forgetful(model):
    global n_calls
    n_calls += 1
    return [int(torch.rand(1) < 0.25), int(torch.rand(1) < 1 / (2 + n_calls))]
"""


@pytest.fixture(scope="module")
def zygote():
    settings = ChildSettings(student_path=".", preload=("torch",), rung="none", call_s=2)
    with Zygote(settings) as zygote:
        yield zygote


@pytest.fixture
def child(zygote: Zygote):
    with zygote.spawn() as child:
        child.run_cell(SAMPLERS)
        yield child


class Model:
    """Notes what it is asked, and what it is told."""

    def __init__(self) -> None:
        self.tape: list = []

    def probs(self, text: list[int]) -> list[float]:
        self.tape.append(list(text))
        return random.Random(str(text)).choices([0.25, 0.5, 1.0], k=2)

    def note(self, length: int) -> None:
        if length > 2:
            raise ValueError("this is never noted")
        self.tape.append(length)

    def size(self) -> int:
        self.tape.append("size")
        return len(self.tape) - 1

    def offer(self, more: int = 0) -> Offer:
        """more: by how much its twin is wrong about the size."""
        attributes = {"probs": self.asked, "note": self.note, "size": self.size}
        return Offer(attributes=attributes, twin=("twins", "Size", more))

    def asked(self, text: list[int]) -> object:
        return torch.tensor(self.probs(text), dtype=torch.float64)


def law_of(child: Child, sampler: str, ahead: bool) -> tuple[Law, list]:
    """Its law, and the tapes of all runs."""
    tapes = []

    def play(source):
        model = Model()
        tapes.append(model.tape)
        return scripted(getattr(child.student, sampler), offered(source), model.offer())

    with child.forked():
        child.may_run_ahead = ahead
        return exact_law(play), tapes


def test_a_law_and_all_that_was_asked_are_the_same(child, monkeypatch):
    heard = []
    hear = RemoteChannel._hear
    monkeypatch.setattr(RemoteChannel, "_hear", lambda *args: (heard.append(1), hear(*args))[1])
    plain = law_of(child, "kept", ahead=False)
    n_plain = len(heard)
    assert law_of(child, "kept", ahead=True) == plain
    assert plain[0].n_paths == len(plain[1]) > 50
    assert 10 * (len(heard) - n_plain) < n_plain


def test_a_sampler_that_remembers_is_found_one_message_at_a_time(child):
    with pytest.raises((Misplayed, NotRepeatable)):
        law_of(child, "forgetful", ahead=True)
    with pytest.raises(NotRepeatable):
        law_of(child, "forgetful", ahead=False)


@pytest.mark.parametrize(
    ("lie", "ends"),
    [
        ("lambda *_: (({'ok': True, 'value': 1}, b''), 1)", Misplayed),
        ("lambda self, *_: self._events.extend([{'n_bytes': 1 << 40}])", Tampered),
        ("lambda self, *_: self._events.extend([{'n_bytes': 0}] * 1000)", Tampered),
    ],
)
def test_a_side_that_lies_about_what_it_was_answered_is_found(child, lie, ends):
    child.run_cell(f"import labkit.bridge.ahead as a; a.Ahead._own_answer = {lie}")
    with pytest.raises(ends):
        law_of(child, "kept", ahead=True)


def test_what_was_done_ahead_is_for_the_same_request_only(child):
    def play(source):
        scripted(child.student.kept, offered(source), Model().offer())
        return value_of(child.student.n_calls), 0

    with child.forked():
        child.may_run_ahead = True
        with pytest.raises(Misplayed):
            exact_law(play)


def test_who_asks_for_nothing_again_and_again_is_ended(child):
    loop = "while True: self._call_back({'callback': None}, [])"
    child.run_cell(f"import labkit.bridge.executor as e\ndef handle(self, *_):\n    {loop}")
    child.run_cell("e.Executor.handle = handle\nx = 1")
    with child.forked(), child.deadline(0.3), pytest.raises(StudentEnded):
        SteadyChannel(child, {}).look_at(["x"])


def test_what_a_twin_says_must_be_the_answer(child):
    child.run_cell("def size(model):\n    return model.size()")
    with child.forked():
        child.may_run_ahead = True
        assert child.student.size(Model().offer()) == 0
        with pytest.raises(Misplayed):
            child.student.size(Model().offer(more=1))


class Counter:
    """Counts from a number; in the student's process a twin does."""

    def __init__(self, start: int) -> None:
        self.n_asked, self._start = 0, start

    def count(self, step: int) -> object:
        self.n_asked += 1
        return torch.tensor([self._start + step * self.n_asked])

    def offer(self, twins_start: int) -> Offer:
        return Offer(attributes={"count": self.count}, twin=("twins", "Counter", twins_start))


COUNTER = """
import sys, types, torch
class Counter:
    def __init__(self, start): self.n, self.start = 0, start
    def count(self, step):
        self.n += 1
        return CHEAT or torch.tensor([self.start + step * self.n])
sys.modules["twins"] = types.SimpleNamespace(Counter=Counter)
CHEAT = 0
def counts(counter): return [int(counter.count(2)) for _ in range(9)]
"""


def test_a_twin_answers_in_place_and_each_call_is_counted(child, monkeypatch):
    heard = []
    hear = RemoteChannel._hear
    monkeypatch.setattr(RemoteChannel, "_hear", lambda *args: (heard.append(1), hear(*args))[1])
    child.run_cell(COUNTER)
    counters = [Counter(5), Counter(5), Counter(5)]
    with child.forked():
        plain = child.student.counts(counters[0].offer(5))
        assert len(heard) == 10
        child.may_run_ahead = True
        assert child.student.counts(counters[1].offer(5)) == plain == [*range(7, 25, 2)]
        assert child.student.counts(counters[2].offer(0)) != plain  # fools only itself
    assert len(heard) == 12
    assert [counter.n_asked for counter in counters] == [9, 9, 9]


def test_a_twin_that_answers_with_another_kind_of_value_is_found(child):
    child.run_cell(COUNTER)
    child.run_cell("CHEAT = 3")
    with child.forked():
        child.may_run_ahead = True
        with pytest.raises(Misplayed):
            child.student.counts(Counter(5).offer(5))


def test_what_the_checks_function_raises_and_its_twin_does_not_is_found(child):
    child.run_cell("def loud(model):\n    model.note(7)\n    return 1")
    with child.forked():
        child.may_run_ahead = True
        with pytest.raises(Misplayed):
            child.student.loud(Model().offer())


class Loop:
    """Calls a step until it has counted to a number, which its twin foresees."""

    def __init__(self, end: int) -> None:
        self.n, self._end = 0, end

    def count(self) -> int:
        self.n += 1
        return self.n

    def goes_on(self) -> bool:
        return self.n < self._end

    def play(self, step: object, twins_end: int) -> list[int]:
        """What the steps give. twins_end: the number at which the twin takes it for over."""
        offer = Offer(attributes={"count": self.count}, twin=("twins", "Loop", twins_end))
        seen = []
        while self.goes_on():
            seen.append(step(offer))
        return seen


LOOP = """
import sys, types
class Loop:
    def __init__(self, end): self.n, self.end = 0, end
    def count(self):
        self.n += 1
        return self.n
    def goes_on(self): return self.n < self.end
sys.modules["twins"] = types.SimpleNamespace(Loop=Loop)
def step(loop):
    loop.count()
    return loop.count()
"""


def test_a_twin_that_goes_on_foresees_the_next_requests(child, monkeypatch):
    heard = []
    hear = RemoteChannel._hear
    monkeypatch.setattr(RemoteChannel, "_hear", lambda *args: (heard.append(1), hear(*args))[1])
    child.run_cell(LOOP)
    with child.forked():
        plain = Loop(20).play(child.student.step, 20)
        n_plain = len(heard)
        child.may_run_ahead = True
        assert Loop(20).play(child.student.step, 20) == plain == [*range(2, 21, 2)]
    assert (n_plain, len(heard)) == (30, 31)


@pytest.mark.parametrize("twins_end", [10, 30])
def test_a_twin_that_foresees_another_number_of_requests_is_found(child, twins_end):
    child.run_cell(LOOP)
    with child.forked():
        child.may_run_ahead = True
        with pytest.raises(Misplayed):
            Loop(20).play(child.student.step, twins_end)
            value_of(child.student.n_calls)
