"""What a student's process has done ahead of our requests (see labkit.bridge.ahead), as it tells.

Nothing of it is believed: each callback runs here as if it came just now, and what that side took
for our answer must be our answer. If it is not, or if we ask for something else, `Misplayed` ends
the fork, and the check is played again, one message at a time.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autograder.judging.ends import Misplayed
from labkit.bridge.ahead import MAX_EVENTS
from labkit.bridge.student import Student, called_back
from labkit.bridge.wire import Encoder, WireError, is_array

NOTHING = ({"ok": True, "value": None}, [])


@dataclass
class Ahead:
    """A request under way: its id, what is told of it and not looked at yet, what came last.

    events: callbacks that are answered already, and replies to requests equal to this one. last: a
    callback that waits, with its blob, or the last reply; None while nothing has come.
    """

    request: tuple[dict, bytes]
    request_id: int
    events: deque[tuple[dict, memoryview]] = field(default_factory=deque)
    last: tuple[dict, memoryview] | None = None

    def hear(self, message: dict, blob: memoryview) -> None:
        """Take in a message. Raises: WireError for one that is malformed."""
        start = 0
        for event in _dicts(message.pop("before", [])):
            n_bytes = event.get("n_bytes")
            if type(n_bytes) is not int or not 0 <= n_bytes <= len(blob) - start:
                raise WireError("an event without its bytes")
            self.events.append((event, blob[start : start + n_bytes]))
            start += n_bytes
        self.last = message, blob[start:]

    def replay(
        self, callbacks: list[Callable[..., Any]], student: Student
    ) -> tuple[dict, memoryview] | None:
        """Run what is told of, up to the first reply, which is returned; None if there is none.

        Raises: Misplayed; WireError for what is no callback; what the check's functions raise.
        """
        while self.events:
            event, blob = self.events.popleft()
            if isinstance(reply := event.get("reply"), dict):
                return reply, blob
            result, refusal = called_back(event, blob, callbacks, student)
            assumed = event.get("assumed")
            if assumed is None and is_array(result):
                continue  # its bytes are not told, so they need not be made here
            encoder = Encoder(lambda value: student._to_handle(value, callbacks))
            answer = refusal or {"ok": True, "value": encoder.encode(result)}
            if answer != assumed if assumed is not None else not any(encoder.blobs):
                raise Misplayed("it took something else for our answer")
        return None


def _dicts(events: object) -> Iterator[dict]:
    is_list = isinstance(events, list) and len(events) <= MAX_EVENTS
    if not is_list or not all(isinstance(event, dict) for event in events):
        raise WireError("no list of events")
    yield from events
