"""A student's code with classes of the check's: they behave as if they were the student's own."""

from textwrap import dedent

import pytest
import torch

from labkit import batching
from labkit.bridge import helped
from labkit.bridge.helped import Helped, Objects
from labkit.bridge.local import local_student
from labkit.bridge.requests import hold, in_turn, scripted, value_of
from labkit.bridge.student import Offer, StudentError
from labkit.checks.law import exact_law, offered

CODE = """
class Loop:
    def __init__(self):
        self.waiting = RequestQueue()

    def add(self, i, n_input, n_wanted):
        fields = {"id": i, "input_length": n_input, "output_length": n_wanted}
        self.waiting.add(Request(fields, 100))
        return len(self.waiting)

    def take(self, most):
        fits = lambda one: isinstance(one, Request) and one.size < most
        found = self.waiting.constrained_get(fits)
        if found is None:
            return bool(self.waiting)
        found.mark = [found.id]
        found.mark.append("taken")
        found.limit += 1
        found.add_token(7, 7)
        return found.mark, found.size, found.state, found.tokens

    def breaks(self):
        return self.waiting.constrained_get(lambda one: one.length)
"""


@pytest.fixture
def student():
    names = {}
    exec(CODE, names)
    parts = {"Request": batching.Request, "RequestQueue": batching.RequestQueue}
    return Helped(local_student(names), parts)


def test_objects_of_a_part_live_through_many_calls(student):
    loop = hold(student.Loop)
    assert [loop.add(1, 60, 20), loop.add(2, 10, 5), loop.add(3, 10, 5)] == [1, 2, 3]
    assert loop.take(40) == ([2, "taken"], 16, "done", [7])
    assert loop.take(40)[0] == [3, "taken"]
    assert loop.take(40) is True and loop.take(99)[0] == [1, "taken"] and loop.take(99) is False


def test_parts_stand_in_steps_and_where_a_check_asks_for_them():
    """A mistake in a part costs nothing in a step of an object, or where a check calls the part."""
    names = {}
    code = """
    def double(n): return 0
    class Adder:
        def add(self, n): return 1 + double(n)
    """
    exec(dedent(code), names)
    student = Helped(local_student(names), {"double": lambda n: 2 * n})
    assert in_turn(hold(student.Adder), ("add", 3), ("add", 4)) == [7, 9]
    assert student.double(5) == 10
    assert local_student(names).double(5) == 0


def test_objects_take_no_tensors_and_not_too_much_in_all():
    kept = Objects(local_student({}), batching.RequestQueue)
    place, _, _ = kept.ask(None, "", {}, [], {})
    with pytest.raises(MemoryError):
        kept.ask(place, "add", {}, [torch.zeros(10**5)], {})
    with pytest.raises(MemoryError):
        for _ in range(helped.MAX_KEPT // 9_000 + 1):
            kept.ask(place, "add", {}, ["x" * 9_000], {})


def test_a_slip_in_what_the_part_calls_is_the_students(student):
    loop = hold(student.Loop)
    loop.add(1, 60, 20)
    with pytest.raises(StudentError, match="no attribute 'length'"):
        loop.breaks()


def test_nothing_but_methods_and_public_attributes_can_be_asked_for(student, monkeypatch):
    made = Objects(student, batching.RequestQueue)
    made.ask(None, "", {}, [], {})
    for name in ("__init__", "__reduce__", "_requests"):
        with pytest.raises(AttributeError, match="no method"):
            made.ask(0, name, {}, [], {})
    made.ask(0, "", {"_requests": 3}, [], {})
    assert made.ask(0, "__len__", {}, [], {}) == (0, 0, {})
    with pytest.raises(MemoryError):
        made.ask(0, "add", {}, ["x" * helped.MAX_CHARS], {})
    monkeypatch.setattr(helped, "MAX_MADE", 1)
    with pytest.raises(MemoryError):
        made.ask(None, "", {}, [], {})


def test_a_name_stands_for_a_part_of_the_checks_during_one_call():
    names = {"part": lambda x: -x}
    exec("def whole(x):\n    return part(x) + 1", names)
    student = local_student(names)
    helped_student = Helped(student, {"part": lambda x: 10 * x})
    assert value_of(hold(helped_student.whole, 2)) == 21
    seeds = Offer(attributes={"seeds": [1, 2]})
    names["drawn"] = lambda rng: names["part"](1)
    assert scripted(helped_student.drawn, seeds) == 10
    assert student.whole(2) == names["part"](3) + 2 == -1
    with pytest.raises(StudentError):
        hold(Helped(student, {"part": lambda: 0}).whole, 2)
    assert student.whole(2) == -1


def coin(p, rng=None):
    """A part that draws."""
    return int(torch.rand((), generator=rng) < p)


@pytest.fixture
def tosser():
    names = {}
    code = """
def pair(p):
    return [coin(p), coin(p, "a generator")]
def often(p):
    return [coin(p) for _ in range(40)]
def alike(p):
    return {coin(p, "a generator") for _ in range(40)}
"""
    exec(code, names)
    return names


def test_the_source_of_a_call_decides_what_a_part_draws(tosser):
    student = Helped(local_student(tosser), {"coin": coin})
    law = exact_law(lambda source: scripted(student.pair, offered(source), 0.25))
    assert law.probabilities == {(1, 1): 1 / 16, (1, 0): 3 / 16, (0, 1): 3 / 16, (0, 0): 9 / 16}


def test_without_a_source_parts_draw_alike_for_every_student(tosser):
    students = [Helped(local_student(tosser), {"coin": coin}) for _ in range(2)]
    first, second = (student.often(0.5) for student in students)
    assert first == second and {*first} == {0, 1}  # chance decides all the same
    assert first != students[0].often(0.5)
    assert len(students[0].alike(0.5)) == 1  # a generator stays where it is
