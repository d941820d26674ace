"""A student's objects as a teacher's test cell uses them, outside the student's process.

Plain values come by value. For anything else the test cell holds a `Mirror`: it can be called,
iterated and indexed, and its attributes can be read. It cannot be compared and has no truth value,
so no object of a student's decides an assert.
"""

import builtins
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from labkit.bridge.requests import method_of, place_all, values_of
from labkit.bridge.student import MissingName, Proxy, Student, StudentError

MAX_ITEMS = 100_000
_CLOCK = ("hour", "minute", "second", "microsecond")
PLAIN_PARTS = {  # values that are made anew here, from plain parts
    "Fraction": (Fraction, ("numerator", "denominator")),
    "date": (date, ("year", "month", "day")),
    "datetime": (datetime, ("year", "month", "day", *_CLOCK)),
    "time": (time, _CLOCK),
    "timedelta": (timedelta, ("days", "seconds", "microseconds")),
    "range": (range, ("start", "stop", "step")),
}


class Mirror(Proxy):
    """An object of the student's, as a test cell sees it."""

    __slots__ = ()
    __hash__ = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it there; lists, dicts, sets and arrays that it changes are changed here as well."""
        shared = [arg for arg in args if isinstance(arg, list | dict | set | np.ndarray)]
        if not shared:
            return self._student.ask("call", self, args, kwargs)
        held = place_all(self._student, shared)
        stands = {id(arg): proxy for arg, proxy in zip(shared, held, strict=True)}
        there = tuple(stands.get(id(arg), arg) for arg in args)
        result = self._student.ask("call", self, there, kwargs)
        for arg, value in zip(shared, values_of(self._student, held), strict=True):
            _write_back(arg, value)
        return result

    def __iter__(self) -> Iterator[Any]:
        iterator = self._student.ask("call", method_of(self, "__iter__"), hold=True)
        for _ in range(MAX_ITEMS):
            try:
                yield next(iterator)
            except StopIteration:
                return
        raise ValueError(f"there are more than {MAX_ITEMS:,} items")

    def __next__(self) -> Any:
        return method_of(self, "__next__")()

    def __str__(self) -> str:
        return self._text("__str__")

    def __repr__(self) -> str:
        return self._text("__repr__")

    def _text(self, name: str) -> str:
        text = method_of(self, name)()
        if type(text) is not str:
            raise TypeError(f"{name} gave no text")
        return text


class AskedStudent(Student):
    """A `Student` whose objects are mirrors and whose exceptions are Python's own."""

    _holding = False

    def ask(self, op: str, *args: Any, **kwargs: Any) -> Any:
        """One request. Raises: what the student's code raised, as the built-in class nearest it."""
        outer, self._holding = self._holding, kwargs.get("hold", False)
        try:
            return super().ask(op, *args, **kwargs)
        except StudentError as error:
            raise _as_builtin(error) from error
        except MissingName as error:
            raise NameError(f"name '{error}' is not defined") from error
        finally:
            self._holding = outer

    def _to_handle(self, value: Any, callbacks: list) -> dict:
        """What stands for a value there; one of PLAIN_PARTS is made there anew."""
        make, names = PLAIN_PARTS.get(type(value).__name__, (None, ()))
        if type(value) is not make:
            return super()._to_handle(value, callbacks)
        builtin = Mirror(self, {"$name": "__builtin__"}, "module")
        module = method_of(builtin, "__import__")(make.__module__)
        parts = [getattr(value, name) for name in names]
        return self.ask("call", method_of(module, make.__name__), tuple(parts), hold=True)._item

    def _from_handle(self, tag: str, payload: Any) -> Any:
        proxy = super()._from_handle(tag, payload)
        mirror = Mirror(self, proxy._item, proxy._kind)
        if self._holding or proxy._kind not in PLAIN_PARTS:
            return mirror
        make, names = PLAIN_PARTS[proxy._kind]
        parts = [getattr(mirror, name) for name in names]
        return make(*parts) if all(type(part) is int for part in parts) else mirror

    def __getattr__(self, name: str) -> Mirror:
        return Mirror(self, {"$name": name}, name)


def is_instance(value: Any, kinds: Any) -> bool:
    """`isinstance`, also of a class that the student's code defines."""
    if isinstance(kinds, tuple):
        return any(is_instance(value, kind) for kind in kinds)
    if isinstance(kinds, Mirror):
        return isinstance(value, Mirror) and method_of(kinds, "__instancecheck__")(value) is True
    return isinstance(value, kinds)


def _as_builtin(error: StudentError) -> Exception:
    """The exception as the most derived built-in class that it is one of."""
    known = [getattr(builtins, name, None) for name in sorted(error._kinds)]
    known = [kind for kind in known if isinstance(kind, type) and issubclass(kind, Exception)]
    for kind in sorted(known, key=lambda kind: -len(kind.__mro__)):
        try:
            return kind(error.message) if error.message else kind()
        except TypeError:  # one that wants more than a message
            continue
    return error


def _write_back(here: Any, value: Any) -> None:
    """Give a value that was passed the contents that it has there now."""
    if type(value) is not type(here):
        raise TypeError(f"a {type(here).__name__} came back as a {type(value).__name__}")
    if isinstance(here, np.ndarray):
        here[...] = value
    elif isinstance(here, list):
        here[:] = value
    else:
        here.clear()
        here.update(value)
