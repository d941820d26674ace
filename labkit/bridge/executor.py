"""What sits beside a student's code: performs a check's requests there, sends values back.

In a notebook it works in the same process, in the grader in the walled child (see
labkit.bridge.student). Everything here is in the student's hands there, so nothing here decides
anything.
"""

import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from gc import get_freeze_count, get_objects, unfreeze
from pathlib import Path
from types import MappingProxyType
from typing import Any

from labkit.bridge.stand_in import stand_in_class
from labkit.bridge.waiting import Waiting
from labkit.bridge.wire import Encoder, WireDecoder, WireError

MAX_MESSAGE_CHARS = 2000
MAX_TRACE_FRAMES = 4
MAX_KINDS = 12
MAX_NAME_CHARS = 100
STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"]

frozen_at_first = cache(get_freeze_count)  # objects, before student code ran; a count of a list


class MissingName(Exception):
    """The student's notebook does not define this name."""


class Executor:
    """Performs requests on the objects of one namespace.

    `call_back(message, blobs) -> (reply, blob)` carries a callback to the check's side and returns
    its answer.
    """

    def __init__(
        self,
        namespace: Mapping[str, Any],
        call_back: Callable[[dict, list], tuple[dict, bytes]],
    ) -> None:
        self._namespace = namespace
        self._call_back = call_back
        self._held: list[Any] = []
        self._classes: dict[tuple, type] = {}
        frozen_at_first()

    def handle(self, message: dict, blob: bytes) -> tuple[dict, list]:
        """Perform one request. Returns the reply and its blobs; never raises for student code."""
        encoder = Encoder(self._to_handle)
        try:
            if message["op"] == "in_turn":
                with self._parts_of(message):
                    target, steps, _ = self._asked(message, blob)
                    # each is encoded as it is before the next step may change it
                    value = [encoder.encode(_step(target, step)) for step in steps]
            elif message["op"] == "scripted_each":
                sources, *args = message["args"]
                each = ({**message, "op": "scripted", "args": [one, *args]} for one in sources)
                value = [encoder.encode(self._perform(one, blob)) for one in each]
            else:
                result = self._perform(message, blob)
                value = self._to_handle(result) if message.get("hold") else encoder.encode(result)
            return {"ok": True, "value": value}, encoder.blobs
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return {"ok": False, **describe_error(error)}, []

    def _asked(self, message: dict, blob: bytes) -> tuple[Any, list, dict]:
        """The target of a request, its arguments and those by name."""
        decoder = WireDecoder(blob, self._from_handle)
        target = decoder.decode(message["target"]) if "target" in message else None
        args = [decoder.decode(item) for item in message.get("args", [])]
        kwargs = {name: decoder.decode(item) for name, item in message.get("kwargs", {}).items()}
        return target, args, kwargs

    def _perform(self, message: dict, blob: bytes) -> Any:
        """The result of a request; with `look`, and what its arguments are afterwards."""
        with self._parts_of(message):
            target, args, kwargs = self._asked(message, blob)
            result = self._result(message, target, args, kwargs)
        return [result, args] if message.get("look") else result

    def _parts_of(self, message: dict) -> AbstractContextManager[None]:
        """While it is open, the `parts` of a request replace names of the notebook."""
        decode = WireDecoder(b"", self._from_handle).decode
        parts = {name: self._made(decode(part)) for name, part in message.get("parts", {}).items()}
        return _bound(self._namespace, parts)

    def _result(self, message: dict, target: Any, args: list, kwargs: dict) -> Any:
        match message["op"]:
            case "call":
                return target(*args, **kwargs)
            case "scripted":
                from labkit.chance.source import run_scripted

                return run_scripted(args[0], target, *args[1:], **kwargs)
            case "kernel":
                from labkit.bridge.in_triton import run_kernel

                return run_kernel(target, *args, kwargs)
            case "attribute":
                return getattr(target, message["name"])
            case "length":
                return len(target)
            case "item":
                return target[args[0]]
            case "value":
                value = target if "target" in message else args[0]
                return value.wait() if type(value) is Waiting else value
            case "memory_errors":
                if get_freeze_count() > frozen_at_first():
                    unfreeze()  # what is frozen is not among the objects
                return sum(issubclass(type(each), MemoryError) for each in get_objects())
            case unknown:
                raise WireError(f"unknown operation {unknown!r}")

    def _made(self, part: Any) -> Any:
        """A stand-in for a function of the check, a function with results of a class, or a class.

        A class is made once, because objects of earlier calls belong to it.
        """
        match part:
            case (ask, name, methods):
                made = stand_in_class(ask, name, methods)
                return self._classes.setdefault((name, ask.index), made)
            case (function, kind):
                return lambda *args, **kwargs: kind(*function(*args, **kwargs))
        return part

    def _to_handle(self, value: Any) -> dict:
        self._held.append(value)
        return {"$handle": [len(self._held) - 1, type(value).__name__, callable(value)]}

    def _from_handle(self, tag: str, payload: Any) -> Any:
        match tag:
            case "$handle":
                return self._held[payload]
            case "$name":
                if payload not in self._namespace:
                    raise MissingName(payload)
                return self._namespace[payload]
            case "$item":
                (held,), index = payload[0].items(), payload[1]
                return self._from_handle(*held)[index]
            case "$method":
                (held,), name = payload[0].items(), payload[1]
                return partial(_call_method, self._from_handle(*held), name)
            case "$callback":
                return _Callback(self._run_callback, payload)
            case "$offer":
                call, items, answers, name, read = payload
                plain = WireDecoder(b"", self._from_handle).decode
                attributes, functions = (
                    {key: plain(item) for key, item in each.items()} for each in (items, read)
                )
                return _stand_in(name, plain(call), attributes, dict(answers), functions)
        raise WireError(f"unexpected {tag}")

    def _run_callback(self, index: int, args: tuple, kwargs: dict) -> Any:
        encoder = Encoder(self._to_handle)
        message = {
            "callback": index,
            "args": [encoder.encode(arg) for arg in args],
            "kwargs": {name: encoder.encode(arg) for name, arg in kwargs.items()},
        }
        reply, blob = self._call_back(message, encoder.blobs)
        if not reply["ok"]:
            raise _EXCEPTIONS.get(reply["kind"], RuntimeError)(reply["message"])
        return WireDecoder(blob, self._from_handle).decode(reply["value"])


@contextmanager
def _bound(namespace: Any, names: Mapping[str, Any]) -> Iterator[None]:
    """Give names of the namespace other values for a while."""
    before = {name: namespace[name] for name in names if name in namespace}
    namespace.update(names)
    try:
        yield
    finally:
        for name in names:
            namespace.pop(name, None)
        namespace.update(before)


def _step(owner: Any, step: str | tuple) -> Any:
    """Read an attribute, or call a method with the arguments after its name."""
    return getattr(owner, step) if isinstance(step, str) else _call_method(owner, *step)


def _call_method(owner: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    method = getattr(owner, name)
    if not callable(method):
        raise TypeError(f"`{name}` should be a method, it is a {type(method).__name__}")
    return method(*args, **kwargs)


class _Callback:
    """Stands, in the student's process, for a function of the check's."""

    def __init__(self, run: Callable, index: int) -> None:
        self._run = run
        self.index = index

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(self.index, args, kwargs)


_Callback.__name__ = _Callback.__qualname__ = "function"  # so Python's messages name it


class _StandIn:
    """Stands, in the student's process, for an object of the check's."""

    _read: Mapping[str, Callable[[], Any]] = MappingProxyType({})

    def __getattr__(self, name: str) -> Any:
        if name in self._read:
            return self._read[name]()
        known = ", ".join(each for each in (*vars(self), *self._read) if each[0] != "_")
        message = f"the {type(self).__name__} has no attribute {name!r}; it has {known}"
        raise AttributeError(message, name=name, obj=self)


class _StandInWithItems(_StandIn):
    def __getitem__(self, item: str | int) -> Any:
        return self._read[[*self._read][item] if isinstance(item, int) else item]()


class _CallableStandIn(_StandIn):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and type(args[0]) is int and args[0] in self._answers and not kwargs:
            return self._answers[args[0]]
        return self._call(*args, **kwargs)


@cache
def _kind_of_stand_in(name: str, base: type[_StandIn]) -> type[_StandIn]:
    """A class with the name that the student knows: Python's messages say it."""
    return type(name, (base,), {})


def _stand_in(
    name: str, call: Callable | None, attributes: dict, answers: dict, read: dict
) -> _StandIn:
    base = _StandIn if call is None else _CallableStandIn
    stand_in = _kind_of_stand_in(name, _StandInWithItems if read else base)()
    if call is not None:
        stand_in._call, stand_in._answers = call, answers
    vars(stand_in).update(attributes, _read=read)
    return stand_in


_EXCEPTIONS = {kind.__name__: kind for kind in (ValueError, TypeError, IndexError, MemoryError)}


def describe_error(error: BaseException) -> dict:
    """An exception as plain data: class name, message, their own lines and function.

    unwritten: whether it only says that a part is still to be written.
    """
    try:
        message = str(error)[:MAX_MESSAGE_CHARS]
    except Exception:
        message = ""
    names = [frame.f_code.co_qualname for frame, _ in traceback.walk_tb(error.__traceback__)]
    frames = traceback.extract_tb(error.__traceback__)
    labkit = Path(__file__).parents[1]
    ours = (__file__, Encoder.encode.__code__.co_filename, str(labkit / "chance"))
    own = [
        (frame, name)
        for frame, name in zip(frames, names, strict=True)
        if not frame.filename.startswith(ours) and "site-packages" not in frame.filename
    ]
    written = [each for each in own if not each[0].filename.startswith(str(labkit))] or own
    return {
        "kind": type(error).__name__[:MAX_NAME_CHARS],
        "kinds": [base.__name__[:MAX_NAME_CHARS] for base in type(error).__mro__[:MAX_KINDS]],
        "message": message,
        "lines": [
            f"line {f.lineno}, in {name}{': ' * bool(f.line)}{f.line}{_where_in(f)}"[:200]
            for f, name in written[-MAX_TRACE_FRAMES:]
        ],
        "function": getattr(error, "part", own[-1][1] if own else "")[:MAX_NAME_CHARS],
        "unwritten": _is_unwritten(error, frames),
    }


def _is_unwritten(error: BaseException, frames: Sequence[traceback.FrameSummary]) -> bool:
    """Whether the exception is the `raise` of a part that is not written yet.

    Libraries raise the same class for what they cannot do, and `input()` a class derived from it.
    """
    if type(error) is not NotImplementedError or not frames:
        return type(error) is NotImplementedError
    file, line = frames[-1].filename, frames[-1].line
    is_library = "site-packages" in file or file.startswith(STANDARD_LIBRARY)
    return not is_library and (not line or re.search(r"\braise\b", line) is not None)


def _where_in(frame: traceback.FrameSummary) -> str:
    """The part of its line that failed, where Python knows one that is not the whole line."""
    if frame.colno is None or frame.end_colno is None or frame.end_lineno != frame.lineno:
        return ""
    line = linecache.getline(frame.filename, frame.lineno).encode()
    part = line[frame.colno : frame.end_colno].decode(errors="replace")
    return f", at `{part}`" if part and part != frame.line else ""
