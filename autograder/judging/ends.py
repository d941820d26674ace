"""How a student's process fails to answer a request."""


class StudentEnded(Exception):
    """The student's process gave no answer to a request, and was ended if it had not ended itself.

    The message says why, in words for a TA and the student. settled: what had to be ended has been.
    """

    settled = False


class ChildDied(StudentEnded):
    """The student's process ended: by itself, by a crash, or over a limit of the wall."""


class ForkDied(ChildDied):
    """Only the fork that ran this check ended; the student's process is as it was before."""


class Overran(StudentEnded):
    """No answer came in time."""


class UsedUp(Overran):
    """Each call came back in time; together they took too long, so nothing is said of any."""


class Tampered(StudentEnded):
    """It sent what no honest child sends: a forged, stale or malformed frame."""


class Misplayed(StudentEnded):
    """What it did ahead is not what came: nothing is said of it, and the check is played again."""
