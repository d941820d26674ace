"""Hidden cases of lab 8: the same answers, with the key beside them."""

import random

from autograder.labs.papers.key import keys
from labkit.labs.papers.checks.marks import ItemCase


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """One case for each answer; what is right depends on the student's id alone."""
    return {
        answer: [ItemCase(answer, key)] for key in keys().values() for answer in key.item.answers
    }
