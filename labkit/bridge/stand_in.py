"""What stands, in a student's process, for a class of the check's (see labkit.bridge.helped)."""

from collections.abc import Callable, Sequence
from typing import Any


def stand_in_class(ask: Callable[..., Any], name: str, methods: Sequence[str]) -> type:
    """A class of this name. Its methods run on the check's side; its attributes are copies."""

    def forwarded(method: str) -> Callable[..., Any]:
        return lambda self, *args, **kwargs: self._do(method, args, kwargs)

    body = {"_ask": staticmethod(ask), **{method: forwarded(method) for method in methods}}
    return type(name, (_Kept,), body)


class _Kept:
    """An object that is kept on the check's side. _known: the attributes that it has there."""

    _place, _known = None, frozenset()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._do("", args, kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self)[name] = value
        if name in self._known:  # others may follow from it
            self._do("")

    def _do(self, method: str, args: Sequence = (), kwargs: dict | None = None) -> Any:
        fields = {name: value for name, value in vars(self).items() if name in self._known}
        place, result, seen = self._ask(self._place, method, fields, list(args), kwargs or {})
        vars(self).update(seen, _place=place, _known=frozenset(seen))
        return result
