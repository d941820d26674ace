"""A student's code in this very process: how a notebook plays the open checks."""

from collections.abc import Callable, Mapping
from typing import Any

from labkit.bridge.executor import Executor
from labkit.bridge.student import Student, answer_callback


class LocalChannel:
    """The channel to an executor beside us; see labkit.bridge.student."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self.student = Student(self)
        self._executor = Executor(namespace, self._call_back)
        self._callbacks: list[Callable[..., Any]] = []

    def request(
        self, message: dict, blobs: list, callbacks: list[Callable[..., Any]]
    ) -> tuple[dict, bytes]:
        """Perform the request at once; the student's exceptions come back as a reply."""
        outer, self._callbacks = self._callbacks, callbacks
        try:
            reply, reply_blobs = self._executor.handle(message, b"".join(blobs))
        finally:
            self._callbacks = outer
        return reply, b"".join(reply_blobs)

    def _call_back(self, message: dict, blobs: list) -> tuple[dict, bytes]:
        reply, reply_blobs = answer_callback(
            message, b"".join(blobs), self._callbacks, self.student
        )
        return reply, b"".join(reply_blobs)


def local_student(namespace: Mapping[str, Any]) -> Student:
    """The student whose names live in `namespace`, for instance a notebook's `globals()`."""
    return LocalChannel(namespace).student
