"""A student whose functions use the check's own parts, not those of other exercises."""

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import signature
from types import SimpleNamespace
from typing import Any

from labkit.bridge.student import Offer, Proxy, Student
from labkit.bridge.wire import Encoder

MAX_MADE = 10_000  # objects of one class, which are kept on the check's side
MAX_CHARS, MAX_KEPT = 10_000, 10_000_000  # of the arguments of one call, and of all


class Helped(Student):
    """The same student, with these names of the notebook replaced by the check's own parts.

    They run on the check's side. A named tuple that a function returns is made where the student's
    code runs, by the notebook's own class of that name. Objects of a class stay on the check's
    side; what stands for one has its public attributes and its methods. What a function draws is
    decided by the source of a scripted call.
    """

    def __init__(self, student: Student, parts: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(student._channel, student._text_of)
        self._raised = student._raised
        self._parts = {name: self._part(part) for name, part in parts.items()}
        self._drawing = {name: p for name, p in parts.items() if "rng" in signature(p).parameters}

    def ask(
        self, op: str, target: Proxy | None = None, args: tuple = (), *rest: Any, **more: Any
    ) -> Any:
        if op in ("call", "scripted", "scripted_each", "in_turn"):
            source = args[0] if op == "scripted" else None
            drawing = {name: self._drawn(part, source) for name, part in self._drawing.items()}
            more["parts"] = self._parts | drawing
        return super().ask(op, target, args, *rest, **more)

    def _part(self, part: Callable[..., Any]) -> Any:
        if isinstance(part, type):
            return Objects(self, part).ask, part.__name__, methods_of(part)
        made = part.__annotations__.get("return")
        return (part, getattr(self, made.__name__)) if hasattr(made, "_fields") else part

    def _drawn(self, part: Callable[..., Any], source: Offer | None) -> Callable[..., Any]:
        """A part that takes `rng`, as the student's code may call it.

        A generator stays with that code. Without a source, a part that is given one does the same
        for the same arguments, and else draws from the check's own.
        """
        import torch

        place = [*signature(part).parameters].index("rng")

        def drawn(*args: Any, rng: Any = None, **kwargs: Any) -> Any:
            args, rng = args[:place], args[place] if len(args) > place else rng
            if source is not None and "choose" in source.attributes:
                from labkit.chance.source import run_scripted

                return run_scripted(SimpleNamespace(**source.attributes), part, *args, **kwargs)
            own = self._chance if rng is None else torch.Generator("cpu").manual_seed(0)
            return part(*args, rng=own, **kwargs)

        return drawn

    @cached_property
    def _chance(self) -> Any:
        """What parts draw from that are given no generator.

        It begins anew for each student, so that the order of submissions changes nothing.
        """
        import torch

        return torch.Generator("cpu").manual_seed(1)


class Objects:
    """The objects of one class that the student's code has made; all that it asks is hostile."""

    def __init__(self, student: Student, kind: type) -> None:
        self._student, self._kind, self._methods = student, kind, methods_of(kind)
        self._made: list[Any] = []
        self._n_kept = 0

    def ask(
        self, place: int | None, method: str, fields: dict, args: list, kwargs: dict
    ) -> tuple[int, Any, dict]:
        """Call a method ("" for none) of the object at `place`, or make one where that is None.

        fields: its attributes as the student's code has left them. Returns the place, the result,
        and the attributes. Raises: what the method raises; MemoryError for too much.
        """
        encoder = Encoder(lambda _: {})
        n_chars = [len(repr(encoder.encode(each))) for each in (fields, args, kwargs)]
        self._n_kept += sum(n_chars[1:])
        is_large = sum((*n_chars, *map(len, encoder.blobs))) > MAX_CHARS
        if is_large or len(self._made) >= MAX_MADE or self._n_kept > MAX_KEPT:
            raise MemoryError("too much is kept")
        args = [self._asked_here(arg) for arg in args]
        if place is None:
            self._made.append(self._kind(*args, **kwargs))
            return len(self._made) - 1, None, _public(self._made[-1])
        made = self._made[place]
        for name in fields.keys() & {name for name in vars(made) if name[0] != "_"}:
            setattr(made, name, fields[name])
        if method and method not in self._methods:
            raise AttributeError(f"no method {method!r}")
        result = getattr(made, method)(*args, **kwargs) if method else None
        return place, result, _public(made)

    def _asked_here(self, arg: Any) -> Any:
        """A function of the student's sees the same parts when it is called from here."""
        return Proxy(self._student, arg._item, arg._kind) if isinstance(arg, Proxy) else arg


def methods_of(kind: type) -> list[str]:
    """The names of the methods that a class defines, `__len__` among them."""
    return [name for name, value in vars(kind).items() if callable(value) and name != "__init__"]


def _public(made: Any) -> dict[str, Any]:
    """The attributes and properties of an object whose names are public."""
    names = [*vars(made), *(n for n, v in vars(type(made)).items() if isinstance(v, property))]
    return {name: getattr(made, name) for name in names if name[0] != "_"}
