"""How a check reaches a student's objects, in one process; others cross the wall."""

import gc

import pytest
import torch

from labkit.bridge import executor
from labkit.bridge.local import local_student
from labkit.bridge.requests import (
    call_and_look,
    hold,
    hold_attribute,
    in_turn,
    memory_errors_in,
    method_of,
    place,
    place_all,
    scripted_each,
    value_of,
    values_of,
)
from labkit.bridge.student import MissingName, Offer, Proxy, StudentError


class Box:
    def __init__(self, n):
        self.items = torch.zeros(n)

    def put(self, index, value):
        self.items[index] = value
        return self.items

    def run_out(self):
        next(iter([]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def spoil(tensor):
    tensor.zero_()
    return tensor


def add_random(tensor, rng):
    return tensor.add_(torch.rand(tensor.shape, generator=rng))


def misses(name):
    raise type("MissingName", (Exception,), {})(name)


def use(model):
    return model.embed(3), model.n_layers, model(5), [block.run(1) for block in model.blocks]


STUDENT = local_student(
    {
        "Box": Box,
        "spoil": spoil,
        "add_random": add_random,
        "use": use,
        "apply": lambda function, value: function(value) + 1,
        "number": 7,
        "misses": misses,
        "fail": lambda: [][3],
        "later": ...,
    }
)


def test_values_come_by_value_and_objects_as_proxies():
    assert value_of(STUDENT.number) == 7
    box = STUDENT.Box(3)
    assert isinstance(box, Proxy)
    box.put(0, 2.0)
    assert len(box) == 3
    assert box[0] == 2.0
    assert box.items.tolist() == [2.0, 0.0, 0.0]


def test_what_is_held_keeps_its_identity():
    box = STUDENT.Box(2)
    view = hold(box.put, 0, 1.0)
    box.put(1, 5.0)
    assert value_of(view).tolist() == [1.0, 5.0]


def test_steps_in_turn_give_each_value_as_it_was_before_the_next():
    box = STUDENT.Box(2)
    first, second, items = in_turn(box, ("put", 0, 1.0), ("put", 1, 2.0), "items")
    assert first.tolist() == [1, 0]  # `put` returns the very tensor that the next step changes
    assert second.tolist() == items.tolist() == [1, 2]


def test_a_step_that_raises_ends_them():
    box = STUDENT.Box(2)
    with pytest.raises(StudentError, match="IndexError"):
        in_turn(box, ("put", 0, 1.0), ("put", 9, 1.0), ("put", 1, 1.0))
    assert box.items.tolist() == [1, 0]


def test_what_a_step_raises_is_told_as_it_is():
    with pytest.raises(StudentError) as told:
        in_turn(STUDENT.Box(2), ("put", 0, 1.0), ("run_out",))
    assert told.value.kind == "StopIteration"
    assert "run_out" in told.value.lines[-1]


def test_a_method_is_looked_up_when_it_is_called():
    box = STUDENT.Box(2)
    put = method_of(box, "put")
    assert put(0, 3.0).tolist() == [3, 0]
    assert isinstance(hold(put, 1, 4.0), Proxy)
    with pytest.raises(StudentError, match="`items` should be a method, it is a Tensor"):
        method_of(box, "items")()
    with pytest.raises(StudentError, match="AttributeError"):
        method_of(box, "pop")()


def test_what_is_held_is_looked_at_together():
    box, number = STUDENT.Box(1), place(STUDENT, 5)
    items, five = values_of(STUDENT, [hold_attribute(box, "items"), number])
    assert (items.tolist(), five) == ([0], 5)
    whole, part = place_all(STUDENT, [torch.ones(2), 3])
    STUDENT.spoil(whole)  # the very object, not a copy
    spoilt, three = values_of(STUDENT, [whole, part])
    assert (spoilt.tolist(), three) == ([0, 0], 3)
    with pytest.raises(TypeError, match="value_of"):
        values_of(STUDENT, [STUDENT.number])  # a name: its value must not change between looks


def test_a_call_shows_what_its_arguments_are_afterwards():
    result, (spoilt,) = call_and_look(STUDENT.spoil, torch.ones(2))
    assert (result.tolist(), spoilt.tolist()) == ([0, 0], [0, 0])
    result, (function, value) = call_and_look(STUDENT.apply, abs, -2, source=Offer())
    assert (result, value) == (3, -2)
    assert isinstance(function, Proxy)


def test_each_of_several_calls_has_its_own_arguments():
    sources = [Offer(attributes={"seeds": [seed, 0]}) for seed in (1, 2, 1)]
    first, other, again = scripted_each(STUDENT.add_random, sources, torch.zeros(2))
    assert first.tolist() == again.tolist() != other.tolist()


def test_arguments_are_copies_unless_placed():
    mine = torch.ones(2)
    STUDENT.spoil(mine)
    assert mine.tolist() == [1.0, 1.0]
    theirs = place(STUDENT, mine)
    STUDENT.spoil(theirs)
    assert value_of(theirs).tolist() == [0.0, 0.0]


def test_callables_run_on_the_side_of_the_check():
    seen = []
    assert STUDENT.apply(lambda value: seen.append(value) or 10, 4) == 11
    assert seen == [4]


def test_an_offer_shows_attributes_calls_and_nested_offers():
    blocks = [Offer(attributes={"run": lambda x, i=i: x + i}) for i in range(2)]
    model = Offer(
        call=lambda x: x * x,
        attributes={"embed": lambda x: -x, "n_layers": 2, "blocks": blocks},
    )
    assert STUDENT.use(model) == (-3, 2, 25, [1, 2])


def test_answers_that_an_offer_brings_along_cost_no_call():
    asked = []
    offer = Offer(call=lambda x: asked.append(x) or -x, answers={1: 2.5})
    student = local_student({"four": lambda f: [f(1), f(3), f(True), f(1.0)]})
    assert student.four(offer) == [2.5, -3, -1, -1.0]
    assert asked == [3, True, 1.0]


def test_errors_of_student_code_are_plain_data():
    with pytest.raises(StudentError, match="IndexError") as caught:
        STUDENT.fail()
    assert any("in <lambda>" in line for line in caught.value.lines)


def test_a_checks_own_error_reaches_the_student_as_its_kind():
    def refuse(value):
        raise ValueError("too long")

    with pytest.raises(StudentError, match="ValueError: too long"):
        STUDENT.apply(refuse, 1)


def test_missing_names_and_blanks_are_told_apart():
    with pytest.raises(MissingName, match="nothing"):
        STUDENT.nothing(1)
    with pytest.raises(MissingName, match="later_on"):
        STUDENT.spoil(STUDENT.later_on)
    with pytest.raises(StudentError, match="MissingName: number"):  # which nobody asked for
        STUDENT.misses("number")
    assert value_of(STUDENT.later)._kind == "ellipsis"


def test_calling_what_is_no_function_is_the_students_error():
    with pytest.raises(StudentError, match="not callable"):
        STUDENT.number(3)


@pytest.mark.parametrize("use_it", [lambda p: p == p, bool, hash], ids=["==", "bool", "hash"])
def test_a_check_cannot_compare_objects_by_accident(use_it):
    with pytest.raises(TypeError):
        use_it(STUDENT.Box(1))


def test_what_is_played_once_may_be_an_exception_that_is_kept():
    student, plays = local_student({}), []

    def play(error):
        plays.append(error)
        raise error

    for _ in range(2):
        with pytest.raises(KeyError, match="kept"):
            student.once("a key", lambda: play(KeyError("kept")), keep=(LookupError,))
        with pytest.raises(ValueError, match="played again"):
            student.once("another", lambda: play(ValueError("played again")), keep=(LookupError,))
    assert len(plays) == 3


def test_exceptions_that_are_frozen_are_counted():
    gc.unfreeze()  # what tests before this one froze, and their exceptions
    gc.collect()
    executor.frozen_at_first.cache_clear()
    kept = []

    def keep():
        kept.append(MemoryError())
        gc.freeze()

    student = local_student({"keep": keep})
    before = memory_errors_in(student)
    student.keep()
    assert memory_errors_in(student) == before + 1
