"""A judge model at any OpenAI-compatible address: it suggests marks, and scores open answers."""

import os
from collections.abc import Sequence
from typing import Any

from autograder.judge_model.client import JudgeClient
from autograder.judge_model.cost import Price, known_price


def judge_of(
    url: str,
    model: str,
    key_env: str | None,
    price: Sequence[float] | None,
    **settings: Any,
) -> tuple[JudgeClient, Price | None]:
    """The judge that a command's options name, and its price. settings: more of a `JudgeClient`.

    key_env: the environment variable that holds the key. price: dollars per million tokens in and
    out; the known one if None.
    Raises: ValueError if the variable is not set, and as `JudgeClient` and `Price`.
    """
    key = os.environ.get(key_env) if key_env else None
    if key_env and not key:
        raise ValueError(f"the environment variable {key_env} is not set")
    costs = Price(*price) if price else known_price(model)
    return JudgeClient(url, model, api_key=key, **settings), costs
