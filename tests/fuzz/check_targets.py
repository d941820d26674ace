"""Our own checks, played against a process that answers anything.

A student's process that gives odd values must fail its checks; a check of ours that breaks on them
would be our error, and a person would have to mark the submission by hand.
"""

import math
from contextlib import suppress
from functools import cache
from itertools import cycle

from damage import damaged
from frame_inputs import callbacks, errors, frame, items
from frame_targets import Tape
from hypothesis import strategies as st

from autograder.builder.source import read_labs
from autograder.judging.ends import StudentEnded
from autograder.labs import cases_of, right_of
from labkit.bridge.frames import receive
from labkit.bridge.student import Student, answer_callback
from labkit.bridge.wire import WireError
from labkit.checks.core import checks_of, play_check

TOPICS = [lab.topic for lab in read_labs()]
MAX_REPLIES = 60
HANDLE = {"$handle": [0, "x", True]}
DTYPES = {"float32": ("<f4", 4), "float64": (">f8", 8), "int64": ("<i8", 8), "int8": ("|i1", 1),
          "bool": ("|b1", 1), "complex64": ("<c8", 8)}  # fmt: skip


@cache
def cases_by_check(topic):
    """The checks of a topic, by name, each with its hidden cases."""
    by_exercise = checks_of(topic)
    cases = cases_of(topic, seed=1)
    return {one.name: (one, cases[one.exercise]) for some in by_exercise.values() for one in some}


class Replies:
    """A channel that gives its replies in turn, whatever is asked, and calls back with some."""

    def __init__(self, replies):
        self.replies, self.n_replies = cycle(replies), 0
        self.student = Student(self)

    def request(self, message, blobs, callbacks):
        reply, blob = self._next()
        while "callback" in reply and callbacks:
            answer_callback(reply, blob, callbacks, self.student)
            reply, blob = self._next()
        is_held = message.get("hold") and reply.get("ok") is True
        return ({"ok": True, "value": HANDLE}, b"") if is_held else (reply, blob)

    def _next(self):
        self.n_replies += 1
        if self.n_replies > MAX_REPLIES:
            raise StudentEnded("enough")
        return next(self.replies)


def play_checks(content):
    """The content: a topic and a check's name in two lines, then the frames of the replies."""
    topic, _, rest = content.partition(b"\n")
    name, _, frames = rest.partition(b"\n")
    known = cases_by_check(topic.decode()) if topic in map(str.encode, TOPICS) else {}
    check, cases = known.get(name.decode("latin-1"), (None, []))
    replies, tape = [], Tape(frames)
    with suppress(EOFError, WireError):
        while True:
            replies.append(receive(tape))
    if check and replies:
        with suppress(StudentEnded, WireError):
            student, right = Replies(replies).student, right_of(topic.decode())
            play_check(check, student, cases, hidden=True, right=right)


@st.composite
def arrays(draw):
    """A sound tensor or array of zeros or of one odd byte."""
    torch_name = draw(st.sampled_from(sorted(DTYPES)))
    numpy_name, size = DTYPES[torch_name]
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    blob = bytes([draw(st.integers(0, 255))]) * (math.prod(shape) * size)
    tag, name = draw(st.sampled_from([("$tensor", torch_name), ("$array", numpy_name)]))
    item = {tag: [name, shape, [0, len(blob)]]}
    value = draw(st.sampled_from([item, [item], {"$tuple": [item, 1]}]))
    return frame({"ok": True, "value": value}, blob)


usual = st.one_of(
    st.integers(-5, 100),
    st.lists(st.integers(0, 9), max_size=5),
    st.lists(st.floats(0, 1), max_size=5),
    st.sampled_from(["", "A", "a b", True, [[1, 2], [3]], {"$int": "0x" + "f" * 4000}]),
    st.sampled_from([{"$tuple": [1, 2]}, {"$dict": [["a", 1]]}, {"$float": "nan"}]),
)
replies = st.one_of(
    (usual | items).map(lambda item: frame({"ok": True, "value": item}, bytes(64))),
    arrays(),
    errors.map(frame),
    callbacks.map(frame),
    st.builds(
        lambda index, args: frame({"callback": index, "args": args, "kwargs": {}}, bytes(64)),
        st.integers(0, 3),
        st.lists(usual, max_size=3),
    ),
    st.sampled_from(["NotImplementedError", "ValueError", "MissingName"]).map(
        lambda kind: frame({"ok": False, "kind": kind, "message": "", "lines": []})
    ),
)


@st.composite
def plays(draw):
    """A check, and what it is answered."""
    topic = draw(st.sampled_from(TOPICS))
    name = draw(st.sampled_from(sorted(cases_by_check(topic))))
    frames = draw(damaged(st.lists(replies, min_size=1, max_size=4).map(b"".join)))
    return b"\n".join([topic.encode(), name.encode(), frames])


any_replies = plays()
