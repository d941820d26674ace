"""The rows of a table of checks: calls, their arguments and their results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Proxy, Student


class Argument:
    """An argument that the student's function gets in another form than ours."""

    def here(self) -> Any:
        """The value for the reference answer and the slips."""
        return self

    def there(self, student: Student) -> Any:
        """The value for the student's function."""
        raise NotImplementedError


@dataclass(frozen=True)
class Made(Argument):
    """An object made by a class of the notebook: see `made`.

    way: the class method that makes it, "" for the class itself.
    """

    kind: type
    way: str = ""
    args: tuple = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def here(self) -> Any:
        maker = getattr(self.kind, self.way) if self.way else self.kind
        return maker(*self.args, **self.kwargs)

    def there(self, student: Student) -> Proxy:
        maker = getattr(student, self.kind.__name__)
        maker = getattr(maker, self.way) if self.way else maker
        return hold(maker, *self.args, **self.kwargs)

    def __repr__(self) -> str:
        way = f".{self.way}" if self.way else ""
        return f"{self.kind.__name__}{way}({_listed(self.args, self.kwargs)})"


def made(maker: Callable[..., Any], *args: Any, **kwargs: Any) -> Made:
    """`made(ModelWork.of, "gpt2")`: what the class or its class method makes of the arguments."""
    if isinstance(maker, type):
        return Made(maker, "", args, kwargs)
    return Made(maker.__self__, maker.__name__, args, kwargs)


@dataclass(frozen=True)
class Call:
    """The arguments of a call. It reads as a student would write it."""

    args: tuple
    kwargs: Mapping[str, Any]

    def gives(self, result: Any) -> "Row":
        return Row(self, result)

    def here(self, function: Callable[..., Any]) -> Any:
        """What one of our own functions makes of these arguments."""
        return self._passed(function, lambda each: each.here())

    def there(self, function: Callable[..., Any], student: Student) -> Any:
        """The result of the student's function. Each call has its own arguments."""
        return self._passed(function, lambda each: each.there(student))

    def _passed(self, function: Callable[..., Any], form: Callable[[Argument], Any]) -> Any:
        args = [_copied(value, form) for value in self.args]
        return function(*args, **{name: _copied(self.kwargs[name], form) for name in self.kwargs})

    def __str__(self) -> str:
        return f"({_listed(self.args, self.kwargs)})"


def call(*args: Any, **kwargs: Any) -> Call:
    """A call with these arguments; `call(...).gives(result)` is a row."""
    return Call(args, kwargs)


@dataclass(frozen=True)
class Row:
    """A call and its result. kind: its claim; beside: to compare with; among: all played rows."""

    call: Call
    result: Any
    function: str = ""
    kind: str = ""
    beside: tuple["Row", ...] = ()
    among: tuple["Row", ...] = field(default=(), repr=False, compare=False)
    is_call = True  # its text is the call

    def __str__(self) -> str:
        return f"{self.function}{self.call}"

    def slips(self, slips: Callable[..., Mapping[str, Any]]) -> Mapping[str, Any]:
        """The results of mistakes for this call. They may depend on what is right."""
        needs_right = "right" in signature(slips).parameters
        return self.call.here(partial(slips, right=self.result) if needs_right else slips)

    @property
    def is_refused(self) -> bool:
        return isinstance(self.result, type)

    @property
    def gives_something(self) -> bool:
        return not self.is_refused and bool(self.result)


def _copied(value: Any, form: Callable[[Argument], Any]) -> Any:
    """The value in new lists and dicts, with each `Argument` in the form that is wanted."""
    if type(value) in (list, tuple, set):
        return type(value)(_copied(one, form) for one in value)
    if isinstance(value, dict):
        return {name: _copied(one, form) for name, one in value.items()}
    return form(value) if isinstance(value, Argument) else value


def _listed(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    named = (f"{name}={_written(value)}" for name, value in kwargs.items())
    return ", ".join([*map(_written, args), *named])


def _written(value: Any) -> str:
    return f"{value:_}" if type(value) is int and abs(value) >= 10_000 else repr(value)
