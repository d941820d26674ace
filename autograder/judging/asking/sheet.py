"""What is asked of one student: questions with their keys, as plain data for the slot's channel."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from autograder.intake.collect import Submission
from autograder.judging.jobs import pack_submission

LINE, CHANGE, TRACE, SWAP, BLANK = KINDS = ("line", "change", "trace", "swap", "blank")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one exercise. right: the place of the key, -1 if it has no options.

    kind: one of KINDS. line: of the cell, 0 if it is about none. code: what is to be read with it.
    why: what a TA says after the answer. edit: the lines that it changes, for the TA alone.
    """

    exercise: str
    kind: str
    line: int
    sentence: str
    options: tuple[str, ...] = ()
    right: int = -1
    code: str = ""
    why: str = ""
    edit: str = ""

    @property
    def key(self) -> tuple[frozenset[str], str]:
        """What has to be the same in every process: the options in any order, and the right one."""
        return frozenset(self.options), self.options[self.right]

    @property
    def is_of_claims(self) -> bool:
        """Whether the options are claims, and not values or lines."""
        return "one of these claims" in self.sentence

    @property
    def letter(self) -> str:
        """The letter of the key; "" without options."""
        return chr(ord("A") + self.right) if self.right >= 0 else ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The questions for one student, and the code that they are about, by exercise, for the TA.

    seconds: of the student's processes and ours. problem: why there are no questions, for the TA.
    """

    questions: tuple[Question, ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
    problem: str = ""

    def as_fields(self) -> dict[str, Any]:
        """As plain dicts and lists."""
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Sheet":
        """What `as_fields` gave. Raises: ValueError for anything else."""
        try:
            sheet = cls(**fields)
            asked = [Question(**each) for each in fields["questions"]]
            questions = tuple(replace(one, options=tuple(one.options)) for one in asked)
            return replace(sheet, questions=questions, code=tuple(map(tuple, sheet.code)))
        except (TypeError, KeyError) as error:
            raise ValueError(f"not a sheet: {error}") from error


@dataclass(frozen=True)
class Order:
    """What a slot is asked for: questions about what passed (`green`) of a submission.

    seed: decides which of all questions; equal code has others with another seed. cases: the seed
    of the hidden cases that passed.
    """

    submission: Submission
    green: tuple[str, ...]
    seed: str
    cases: str

    def packed(self) -> dict[str, Any]:
        """As JSON; a message to a slot that has "oral" is no grading."""
        asked = {"green": [*self.green], "seed": self.seed, "cases": self.cases}
        return {"oral": asked, **pack_submission(self.submission)}
