"""How a check reaches a student's code: by value, wherever that code runs.

A check never holds an object of the student's. It holds a `Student`, which resolves names to
`Proxy` objects; a proxy sends requests over a `Channel` to an `Executor`, which sits beside the
student's code, performs them there and sends values back. In a notebook the executor is in the same
process (`labkit.bridge.local`); in the grader it is in a walled child process. Both run this same
code, so a check sees the same thing in both places.

    check -> Proxy -> Channel.request({"op", ...}) -> Executor.handle -> the student's object
    check <- value  <- {"ok", "value"}             <-

A function or an `Offer` that a check passes as an argument stays on the check's side: the student's
code gets a stand-in whose calls come back as callbacks. So what the check counts cannot be forged.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from labkit.bridge.executor import MAX_KINDS, MAX_NAME_CHARS, MAX_TRACE_FRAMES, MissingName
from labkit.bridge.wire import Encoder, NoValue, WireDecoder, WireError

T = TypeVar("T")


class StudentError(Exception):
    """The student's code raised: the exception's class name, its message, where it happened.

    function: the qualified name of the function of the student's that raised it, "" if none did.
    is_unwritten: whether it only says that a part is still to be written.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        lines: tuple[str, ...] = (),
        kinds: frozenset[str] = frozenset(),
        function: str = "",
        is_unwritten: bool = False,
    ) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message
        self.lines = lines
        self.function = function
        self.is_unwritten = is_unwritten
        self._kinds = kinds | {kind}

    @property
    def stop(self) -> str:
        """Where the student's code stopped, without its values."""
        where = f"at {self.lines[-1].partition(': ')[0]}" if self.lines else f"with {self.kind}"
        return f"your code stopped {where}"

    def is_a(self, kind: str) -> bool:
        """Whether it is an instance of that class or of a derived one, as in `except`."""
        return kind in self._kinds


@dataclass(frozen=True)
class Offer:
    """An object of the check's that a student's function may use.

    The student sees `attributes` (values, callables or further offers) and may call the object
    itself if `call` is given. Every call runs on the check's side. answers: the results of `call`
    for whole numbers, if they are no secret and calls are not counted. read: functions that give
    the values of further attributes, or items, each time they are read: tensors, for instance.
    name: the student's word for the object, for messages.
    """

    call: Callable[..., Any] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[int, float] = field(default_factory=dict, repr=False)
    name: str = "object"
    read: Mapping[str, Callable[[], Any]] = field(default_factory=dict)

    @cached_property
    def alone(self) -> tuple[dict, list]:
        """Its item, and its callbacks, in a request that has no others before."""
        callbacks: list = []
        return _item_of(self, callbacks), callbacks


class Channel(Protocol):
    """Carries a request to an executor and answers the callbacks that come before the reply."""

    def request(
        self, message: dict, blobs: list, callbacks: list[Callable[..., Any]]
    ) -> tuple[dict, bytes]:
        """The reply and its blob."""


class Proxy:
    """An object in the student's process; calls, attributes, `len` and items go there and back.

    It is no value: to compare it, or to compute with it, raises `NoValue`.
    """

    __slots__ = ("_item", "_kind", "_student")

    def __init__(self, student: Student, item: dict, kind: str) -> None:
        self._student = student
        self._item = item  # what stands for the object on the wire
        self._kind = kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._student.ask("call", self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._student.ask("attribute", self, name=name)

    def __len__(self) -> int:
        length = self._student.ask("length", self)
        if type(length) is not int or length < 0:
            raise StudentError("TypeError", f"len() gave {length!r:.40}, not a count")
        return length

    def __getitem__(self, index: Any) -> Any:
        return self._student.ask("item", self, (index,))

    def _is_no_value(self, *_: object) -> Any:
        raise NoValue(f"a number, text or tensor is wanted, and this is {self!r}")

    __eq__ = __hash__ = __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _is_no_value
    __int__ = __float__ = __index__ = __abs__ = __neg__ = __round__ = _is_no_value
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _is_no_value
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _is_no_value

    def __repr__(self) -> str:
        return "..." if self._kind == "ellipsis" else f"<a {self._kind} of yours>"


class Student:
    """The student's names, as proxies: `student.weight_bytes(8, 2)`, `value_of(student.table)`.

    A name stands for the value in the notebook; it is looked up when it is used. Calling a value
    that is not a function fails in the student's process, like any other mistake.
    Raises: MissingName when a name is used that the notebook does not define, StudentError when the
    student's code raises.
    """

    def __init__(
        self, channel: Channel, text_of: Callable[[str], str | None] = lambda _: None
    ) -> None:
        """text_of: see the function of that name; None in a notebook."""
        self._channel = channel
        self._text_of = text_of
        self._played: dict[Hashable, tuple[Any, Exception | None, list[StudentError]]] = {}
        self._raised: list[StudentError] = []
        self._named: set[str] = set()

    def once(
        self, key: Hashable, play: Callable[[], T], keep: tuple[type[Exception], ...] = ()
    ) -> T:
        """The result of `play()`, which runs once for all checks that use it.

        keep: exceptions that count as its result, and are raised each time.
        """
        if key in self._played:
            found, error, raised = self._played[key]
            self._raised += raised
        else:
            n_before, error = len(self._raised), None
            try:
                found = play()
            except keep as kept:
                found, error = None, kept
            self._played[key] = found, error, self._raised[n_before:]
        if error is not None:
            raise error
        return found

    def __getattr__(self, name: str) -> Proxy:
        if name.startswith("_"):
            raise AttributeError(name)
        self._named.add(name)
        return Proxy(self, {"$name": name}, name)

    def ask(
        self,
        op: str,
        target: Proxy | None = None,
        args: tuple = (),
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
        hold: bool = False,
        look: bool = False,
        parts: Mapping[str, Any] | None = None,
    ) -> Any:
        """One request. `hold` leaves the result in the student's process, behind a proxy.

        With `look` it gives the result and what the arguments are afterwards. parts: what names of
        the notebook stand for while it is performed (see labkit.bridge.helped).
        """
        callbacks: list = []
        encoder = Encoder(lambda value: self._to_handle(value, callbacks))
        message: dict[str, Any] = {"op": op, "hold": hold}
        if parts:
            message["parts"] = {name: encoder.encode(part) for name, part in parts.items()}
        if target is not None:
            message["target"] = target._item
        if args:
            message["args"] = [
                self._to_handle(arg, callbacks) if type(arg) in _OURS else encoder.encode(arg)
                for arg in args
            ]
        if kwargs:
            message["kwargs"] = {key: encoder.encode(arg) for key, arg in kwargs.items()}
        if name is not None:
            message["name"] = name
        if look:
            message["look"] = True
        reply, blob = self._channel.request(message, encoder.blobs, callbacks)
        if reply.get("ok") is not True:
            error = _student_error(reply, message)
            if isinstance(error, StudentError):
                self._raised.append(error)
            raise error
        if "value" not in reply:
            raise WireError("a reply has no value")
        value = WireDecoder(blob, self._from_handle).decode(reply["value"])
        if hold and not isinstance(value, Proxy):
            raise WireError("what was to stay there came by value")
        return value

    def _to_handle(self, value: Any, callbacks: list) -> dict:
        if isinstance(value, Proxy):
            return value._item
        if isinstance(value, Offer) and not callbacks:
            item, own = value.alone
            callbacks += own
            return item
        return _item_of(value, callbacks)

    def _from_handle(self, tag: str, payload: Any) -> Proxy:
        if tag != "$handle":
            raise WireError(f"unexpected {tag}")
        index, kind, _ = payload
        if type(index) is not int or not isinstance(kind, str):
            raise WireError("not a handle")
        return Proxy(self, {"$handle": index}, kind if _is_name(kind) else "object")


def text_of(student: Student, name: str) -> str | None:
    """The source text of the cell that alone defines a name, as it was handed in.

    "" if there is none, or if another cell may have changed what it defines; None in a notebook.
    """
    return student._text_of(name)


def named_in(student: Student) -> set[str]:
    """The names that a check has asked for; a check may empty the set."""
    return student._named


def raised_by(student: Student) -> list[StudentError]:
    """The exceptions that the student's code has raised; a check may empty the list."""
    return student._raised


_OURS = (Proxy, Offer)  # what is no plain value, and no container of such


def _item_of(value: Any, callbacks: list) -> dict:
    """What stands for an object, an offer or a function, which joins the callbacks."""
    if isinstance(value, Proxy):
        return value._item
    if isinstance(value, Offer):
        encoder = Encoder(lambda inner: _item_of(inner, callbacks))
        attributes = {name: encoder.encode(item) for name, item in value.attributes.items()}
        read = {name: encoder.encode(item) for name, item in value.read.items()}
        if encoder.blobs:
            raise TypeError("an Offer's attributes are plain values, callables and offers")
        call = None if value.call is None else _item_of(value.call, callbacks)
        return {"$offer": [call, attributes, [*value.answers.items()], value.name, read]}
    if callable(value):
        callbacks.append(value)
        return {"$callback": len(callbacks) - 1}
    raise TypeError(f"a {type(value).__name__} cannot be passed to the student's code")


def answer_callback(
    message: dict, blob: bytes, callbacks: list[Callable[..., Any]], student: Student
) -> tuple[dict, list]:
    """Run one of the check's own functions for the student's code; the message is hostile.

    Returns the reply and its blobs. The check's exceptions reach the student as plain ones.
    Raises: WireError if the message is no callback.
    """
    index, args, kwargs = message.get("callback"), message.get("args"), message.get("kwargs")
    known = type(index) is int and 0 <= index < len(callbacks)
    if not known or not isinstance(args, list) or not isinstance(kwargs, dict):
        raise WireError("not a callback")
    decode = WireDecoder(blob, student._from_handle).decode
    plain_args = [decode(item) for item in args]
    plain_kwargs = {name: decode(item) for name, item in kwargs.items()}
    try:
        result = callbacks[index](*plain_args, **plain_kwargs)
    except _SLIPS as error:
        return {"ok": False, "kind": type(error).__name__, "message": str(error)}, []
    encoder = Encoder(lambda value: student._to_handle(value, callbacks))
    return {"ok": True, "value": encoder.encode(result)}, encoder.blobs


# What a function of the check's may raise for arguments that make no sense: our verdicts are none.
_SLIPS = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError),
    *(MemoryError, RuntimeError),
)


def _student_error(reply: dict, asked: dict) -> Exception:
    """The exception of a reply; a name is missing only if the request asked for it."""
    kind, message, lines = reply.get("kind"), reply.get("message"), reply.get("lines")
    if not isinstance(kind, str) or not isinstance(message, str) or not isinstance(lines, list):
        raise WireError("a reply is neither a value nor an error")
    if kind == "MissingName" and _is_name(message) and repr({"$name": message}) in repr(asked):
        return MissingName(message)
    kinds = reply.get("kinds")
    kinds = kinds[:MAX_KINDS] if isinstance(kinds, list) else []
    lines = tuple(_clean(str(line)[:200]) for line in lines[:MAX_TRACE_FRAMES])
    function = _clean(str(reply.get("function", ""))[:MAX_NAME_CHARS])
    return StudentError(
        *(_clean(kind), _clean(message), lines, frozenset(map(str, kinds)), function),
        is_unwritten=reply.get("unwritten") is True,
    )


def _is_name(text: str) -> bool:
    return len(text) <= MAX_NAME_CHARS and text.isidentifier()


def _clean(text: str) -> str:
    """Text that any file takes."""
    return text.encode("utf-8", "replace").decode()
