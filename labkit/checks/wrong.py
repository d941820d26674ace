"""What a check raises if a case does not pass."""

USELESS_SENTENCE = "Without this, the exercise earns at most a quarter of its points."


class Wrong(Exception):
    """The student's answer differs from what was wanted.

    what: the thing compared, in the student's words; why: the likely misconception. cause: the same
    words for all who make this mistake; to be given where `why`, or else `what`, has values of one.
    share: of the exercise's points, what it can earn at most.
    """

    share = 1.0

    def __init__(
        self,
        what: str,
        *,
        expected: str = "",
        got: str = "",
        where: str = "",
        why: str = "",
        cause: str = "",
    ) -> None:
        super().__init__(what)
        self.what, self.expected, self.got, self.where, self.why = what, expected, got, where, why
        self.cause = cause or why.strip() or what

    def sentences(self) -> str:
        """The difference as one line of text."""
        parts = [self.what]
        if self.expected or self.got:
            parts.append(f"expected {self.expected}, got {self.got}")
        if self.where:
            parts.append(f"first difference at {self.where}")
        text = "; ".join(parts) + "."
        return f"{text} {self.why}" if self.why else text


class NotJudged(Wrong):
    """The claim of this check cannot be judged, for a reason that another check is about."""


class Undecided(Wrong):
    """The student's code may be right, and the check cannot tell: a person has to look."""


class Useless(Wrong):
    """What an exercise is for is never done, so it earns at most a quarter of its points."""

    share = 0.25

    def sentences(self) -> str:
        return f"{super().sentences()} {USELESS_SENTENCE}"


class OnlyRead(Exception):
    """An answer can be read; whether it is right, only the hidden cases tell."""

    def __init__(self, said: str = "Read; marked when you hand it in.") -> None:
        super().__init__(said)


class Unfinished(Exception):
    """The student has not written this part yet."""
