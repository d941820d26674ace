"""Requests of a check to a student's objects beyond a plain call.

cache = hold(student.Cache, 4)              # made, and left in the student's process
cost, sizes = in_turn(cache, "cost", ("sizes", 2))
"""

from collections.abc import Sequence
from typing import Any

from labkit.bridge.student import Offer, Proxy, Student, StudentError
from labkit.bridge.wire import WireError


def hold(proxy: Proxy, *args: Any, **kwargs: Any) -> Proxy:
    """Call `proxy` and leave the result in the student's process: it keeps its identity there."""
    return _student_of(proxy).ask("call", proxy, args, kwargs, hold=True)


def scripted(proxy: Proxy, source: Offer, /, *args: Any, **kwargs: Any) -> Any:
    """Call `proxy` while `source` decides all that is random in it; see `labkit.chance.source`."""
    return _student_of(proxy).ask("scripted", proxy, (source, *args), kwargs)


def scripted_each(proxy: Proxy, sources: Sequence[Offer], /, *args: Any) -> list:
    """What `scripted` gives for each source, in one request.

    Each call has its own copies of the arguments. The first that raises ends them.
    """
    return _listed(_student_of(proxy).ask("scripted_each", proxy, (list(sources), *args)), sources)


def call_and_look(proxy: Proxy, *args: Any, source: Offer | None = None) -> tuple[Any, list]:
    """The result of a call, and its arguments after the call. source: as for `scripted`."""
    op, asked = ("call", args) if source is None else ("scripted", (source, *args))
    got = _student_of(proxy).ask(op, proxy, asked, look=True)
    result, after = _listed(got, ("the result", "the arguments"))
    return result, _listed(after, asked)[len(asked) - len(args) :]


def hold_attribute(proxy: Proxy, name: str) -> Proxy:
    """The current value of an attribute, kept in the student's process."""
    return _student_of(proxy).ask("attribute", proxy, name=name, hold=True)


def hold_item(proxy: Proxy, index: Any) -> Proxy:
    """The current value of an item, kept in the student's process."""
    return _student_of(proxy).ask("item", proxy, (index,), hold=True)


def method_of(proxy: Proxy, name: str) -> Proxy:
    """A method of an object, looked up when it is called: one request and not two."""
    return Proxy(_student_of(proxy), {"$method": [proxy._item, name]}, "method")


def in_turn(proxy: Proxy, *steps: str | tuple) -> list:
    """The results of several steps, done one after the other in one request.

    A step is the name of an attribute, or the name of a method and its arguments in a tuple. The
    first that raises ends them. Each value is as it was before the next step.
    """
    return _listed(_student_of(proxy).ask("in_turn", proxy, steps), steps)


def place(student: Student, value: Any) -> Proxy:
    """Put a value into the student's process, to see later whether it was changed."""
    return student.ask("value", args=(value,), hold=True)


def memory_errors_in(student: Student) -> int:
    """How many MemoryErrors the student's process holds, whatever its names stand for."""
    return student.ask("memory_errors")


def place_all(student: Student, values: Sequence) -> list[Proxy]:
    """`place` for several values, in one request."""
    held = place(student, list(values))
    return [Proxy(student, {"$item": [held._item, i]}, "value") for i in range(len(values))]


def values_of(student: Student, proxies: Sequence[Proxy]) -> list:
    """The present values of what `hold` or `place` left in the student's process, at one look."""
    if not all(proxy._item.keys() <= {"$handle", "$item"} for proxy in proxies):
        raise TypeError("values_of is for what was held: a name is looked at by value_of")
    return _listed(student.ask("value", args=(list(proxies),)), proxies)


def value_of(proxy: Proxy) -> Any:
    """The present value of a name, or of what `hold` or `place` left in the student's process."""
    return _student_of(proxy).ask("value", proxy)


def _listed(values: Any, asked: Sequence) -> list:
    """The values, if there are as many as were asked for."""
    if not isinstance(values, list) or len(values) != len(asked):
        raise WireError(f"{len(asked)} values were asked for")
    return values


def _student_of(proxy: Proxy) -> Student:
    """The student behind a proxy; a plain value in its place is a wrong answer."""
    if not isinstance(proxy, Proxy):
        raise StudentError("TypeError", f"a {type(proxy).__name__} is no object to work with")
    return proxy._student
