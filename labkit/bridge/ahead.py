"""A student's code runs ahead: what the check's side will answer is known here already.

Every callback that waits for its answer costs more than the student's own code. So where a request
says that it may be performed ahead, this side answers by itself

- a question to a random source: the paths are followed in one fixed order, depth first;
- a question to an object with a twin: the twin, made here, answers as it does, and may know that
  the same request comes again;
- a question that was asked in the path before, after the same questions with the same answers.

It does the next paths at once, too, and the requests that a twin foresees. All that was asked and
answered goes to the check's side with the next message. There the check's own functions run as
ever, so they count every call and check every answer of chance. Nothing is known here that this
process was not told before.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from labkit.bridge.wire import Decoder, Encoder, WireError, is_array
from labkit.chance.paths import Fork, NotRepeatable, RandomSource, next_path

QUESTIONS = ("choose", "is_below")
MAX_EVENTS, MAX_S = 200, 0.05  # without a word to the other side
ANSWER = {"ok", "value", "kind", "message"}
ARRAY = ({"ok": True}, b"not told")
Answer = tuple[dict, bytes]


class Ahead:
    """What one request has done since the other side last heard of it, and what it knows."""

    def __init__(self, call_back: Callable[[dict, list], Answer]) -> None:
        self._call_back = call_back
        self._lock = threading.RLock()  # students start threads
        self._open = contextlib.ExitStack()
        self._is_ended = False
        self._forks: list[Fork] = []
        self._source: RandomSource | None = None
        self._offer: Any = None
        self._own: dict[int, Callable] = {}
        self._goes_on: Any = None  # a twin that lives from one request to the next
        self._run: list[tuple] = []  # questions and answers of this path
        self._before: list[tuple] = []  # and of the path before
        self._is_as_before = False
        self._begin()

    def _begin(self) -> None:
        self._events: list[dict] = []
        self._blobs: list[bytes] = []
        self._since = time.monotonic()

    def begin(self) -> None:
        """Begin to perform a request, or to perform it once more."""
        self._own = {}

    def meet(self, twin: list, asked: Mapping[str, int]) -> None:
        """Let an object's twin answer from now on. asked: the callbacks by the twin's names."""
        module, name, *args = twin
        made = self._goes_on or getattr(import_module(module), name)(*args)
        self._goes_on = made if hasattr(type(made), "goes_on") else None
        self._own |= {index: getattr(made, name) for name, index in asked.items()}

    def run(self, offer: Any, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
        """`run_scripted` on the next path, by a source in the place of the one that is offered."""
        from labkit.chance.source import in_words, names_of, scripted

        if self._source is None:  # it is set up for all paths, with the offer of the first
            self._offer = offer
            self._open.enter_context(scripted(offer, *names_of(function)))
        self._source = RandomSource(self._forks, *offer.limits)
        self._own |= {getattr(offer, name).index: getattr(self._source, name) for name in QUESTIONS}
        self._offer.uniform = self._source.uniform  # counts, and so tells the other side nothing
        self._before, self._run, self._is_as_before = self._run, [], True
        with in_words():
            return function(*args, **kwargs)

    def close(self) -> None:
        """Let chance be chance again."""
        self._open.close()

    def goes_on(self, reply: dict) -> bool:
        """Whether the same request follows: by an object that knows, or for another path.

        The choices are then set to that path.
        """
        if self._is_ended:
            return False
        if self._goes_on is not None:
            return reply["ok"] and self._is_called_again()
        if self._source is None:
            return False
        try:
            self._source.finish()
        except NotRepeatable:
            return False
        return (reply["ok"] or self._source.problem is not None) and next_path(self._forks)

    def _is_called_again(self) -> bool:
        try:
            return self._goes_on.goes_on()
        except Exception:  # then the check's own object fails, too, and the other side ends it
            return False

    def answer(self, message: dict, blobs: list) -> tuple:
        """What the other side answers to a callback; it is asked only where that is not known.

        A reply and its blob; and the value itself, if it was made here.
        """
        with self._lock:
            index, question = message["callback"], (message, b"".join(blobs) if blobs else b"")
            answer, here, before = None, (), self._known()
            if index in self._own:
                answer, *here = self._own_answer(*question)
            if answer is None and before is not None and before[0] == question:
                answer = before[1]
            if answer is None:
                answer = self._ask(message, blobs)
            else:
                self._note(message, blobs, assumed=None if answer[1] else answer[0])
            self._run.append((question, answer))
            self._is_as_before = before == self._run[-1]
            return *answer, *here

    def note(self, reply: dict, blobs: list) -> None:
        """Keep a reply for the next message to the other side."""
        self._note({}, blobs, reply=reply)

    def _note(self, event: dict, blobs: list, **more: Any) -> None:
        self._events.append({**event, **more, "n_bytes": sum(map(len, blobs))})
        self._blobs += blobs
        if len(self._events) >= MAX_EVENTS or time.monotonic() - self._since > MAX_S:
            self._ask({"callback": None}, [])

    def last(self, reply: dict, blobs: list) -> tuple[dict, list]:
        """The last reply, with all that the other side has not heard of."""
        return {**reply, "before": self._events}, [*self._blobs, *blobs]

    def _ask(self, message: dict, blobs: list) -> Answer:
        asked = {**message, "before": self._events}
        reply, blob = self._call_back(asked, [*self._blobs, *blobs])
        self._is_ended = self._is_ended or "ended" in reply
        self._begin()
        answer = {key: reply[key] for key in reply.keys() & ANSWER}
        return answer, bytes(blob)

    def _known(self) -> tuple | None:
        """What came at this place of the path before, if all was the same until here."""
        i = len(self._run)
        return self._before[i] if self._is_as_before and i < len(self._before) else None

    def _own_answer(self, message: dict, blob: bytes) -> tuple:
        """What the check's source or object would answer, and the value; None if only it can tell.

        The numbers of an array are for the student's code alone: of its bytes ARRAY remains.
        """
        try:
            decode = Decoder(blob).decode
            args = [decode(item) for item in message["args"]]
            kwargs = {name: decode(item) for name, item in message["kwargs"].items()}
        except WireError:
            return (None,)
        try:
            value = self._own[message["callback"]](*args, **kwargs)
            if is_array(value):
                return ARRAY, value
            return ({"ok": True, "value": Encoder().encode(value)}, b""), value
        except (ValueError, TypeError, ArithmeticError) as error:
            return (({"ok": False, "kind": type(error).__name__, "message": str(error)}, b""),)
        except Exception:
            return (None,)
