"""Hidden cases: more of what the notebook plays in the open, fresh for every seed."""

import importlib
import random
from functools import cache


@cache
def hidden_cases(topic: str, seed: int) -> dict[str, list]:
    """The hidden cases of a topic by exercise; the same seed gives the same cases."""
    module = importlib.import_module(f"autograder.labs.{topic}.cases")
    return module.hidden_cases(random.Random(f"{topic}:{seed}"))
