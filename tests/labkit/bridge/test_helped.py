"""A student's code with classes of the check's: they behave as if they were the student's own."""

import pytest

from labkit import batching
from labkit.bridge import helped
from labkit.bridge.helped import Helped, Objects
from labkit.bridge.local import local_student
from labkit.bridge.requests import hold
from labkit.bridge.student import StudentError

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
