"""Answers that do not change: a second look at a name must see the same value as the first.

Every check of an answer asks the student's process for it again. Code there could distinguish the
requests, and give another guess to each check, or to a check that is played again.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from autograder.judging.own_words import OwnWords
from labkit.bridge.student import Channel
from labkit.bridge.wire import WireError
from labkit.checks.wrong import Undecided

_HANDLE = re.compile(r'"\$handle": \[\d+')  # each look numbers the objects afresh


class Changed(WireError):
    """An answer is another than before."""


class SteadyChannel:
    """A channel over which the plain value of a name never changes.

    seen: digests of what the answers of one submission were when they were first looked at, by
    name; all channels to its processes share them. words: what reports of exceptions may say.
    withheld: names that no check gets, and why.
    """

    def __init__(
        self,
        channel: Channel,
        seen: dict[str, bytes],
        words: OwnWords,
        withheld: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._channel = channel
        self._seen = seen
        self._words = words
        self._withheld = withheld

    def look_at(self, names: Iterable[str]) -> None:
        """Look at these names before anything of the student's has been called."""
        for name in names:
            asked = {"op": "value", "hold": False, "target": {"$name": name}}
            self.request(asked, [], [])

    def request(self, message: dict, blobs: list, callbacks: list[Callable]) -> tuple[dict, bytes]:
        """Carry a request.

        Raises: Changed for an answer that is another than before, Undecided for a name withheld.
        """
        name = message.get("target", {}).get("$name")
        if name in self._withheld:
            raise Undecided(self._withheld[name])
        reply, blob = self._channel.request(message, blobs, callbacks)
        if message["op"] == "value" and not message["hold"]:
            found = _digest(reply, blob)
            if name and self._seen.setdefault(name, found) != found:
                raise Changed(f"`{name}` was something else when it was looked at before")
        return self._words.of_report(reply), blob


def _digest(reply: dict, blob: bytes) -> bytes:
    text = _HANDLE.sub("", json.dumps([reply.get("ok"), reply.get("value")]))
    return hashlib.sha256(text.encode() + blob).digest()
