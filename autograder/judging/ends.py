"""How a student's process fails to answer a request.

    exception  who raises it, and why                      what ends     what becomes of the check
    ChildDied  walled: the child's socket is closed        the child     (a cell: it is left out)
    ForkDied   walled: the fork's socket is closed         the fork      failed: "its process ended"
    Overran    channel: no answer came in time             the fork      failed: "no answer came"
               walled: a cell ignores its interrupt        the child     (a cell: it is left out)
    UsedUp     channel: all calls of a check took too long the fork      not decided
               session: so did the whole submission        nothing       not decided
               own_time: to compare its values does too    nothing       failed: "to compare what"
    Overfilled walled, playing: its values fill our memory the fork      failed: "what your code"
    Tampered   channel: a frame that no honest child sends the fork      failed: "the process sent"

`Child` ends what is listed (`settled` says that it has), and `Session` starts a new child if that
one is gone. The student reads the message of a failed check. A person decides a check that is not
decided.
"""

MAX_SAID_CHARS = 500
FULL = "what your code returned does not fit into memory"


class StudentEnded(Exception):
    """The student's process gave no answer to a request, and was ended if it had not ended itself.

    The message says why, in words for a TA and the student. settled: what had to be ended has been.
    said: the part of the message that the process may have written, for the TA alone.
    """

    settled, said = False, ""


class ChildDied(StudentEnded):
    """The student's process ended: by itself, by a crash, or over a limit of the wall."""


class ForkDied(ChildDied):
    """Only the fork that ran this check ended; the student's process is as it was before."""


class Overran(StudentEnded):
    """No answer came in time."""


class UsedUp(Overran):
    """Each call came back in time, but together they took too long: the check is not decided."""


class Overfilled(StudentEnded):
    """The values that came take more of our memory than we have for one submission."""


class Tampered(StudentEnded):
    """The child sent a frame that no honest child sends: forged, stale or malformed."""

    def __init__(self, what: str, said: object = "") -> None:
        self.said = str(said)[:MAX_SAID_CHARS]
        super().__init__(f"{what} ({self.said})" if self.said else what)
