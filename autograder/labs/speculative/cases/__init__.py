"""Hidden cases of lab 06, by the parts that its checks are written in."""

import random

from autograder.labs.speculative.cases.gains import gain_cases
from autograder.labs.speculative.cases.loops import loop_cases
from autograder.labs.speculative.cases.steps import step_cases


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {**step_cases(rng), **loop_cases(rng), **gain_cases(rng)}
