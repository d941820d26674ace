"""An estimate of the cost of a judging, before it begins."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from labkit.models.facts import data_path

REPLY_TOKENS = 500  # one word, and room for what a reasoning model thinks unseen
MESSAGE_TOKENS = 4  # what a chat format adds to each message


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input_usd: float
    output_usd: float

    def __post_init__(self) -> None:
        if not (0 <= self.input_usd < math.inf and 0 <= self.output_usd < math.inf):
            raise ValueError(f"a price is 0 or more dollars per million tokens, got {self}")

    def of(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, tokens and dollars of a judging; usd is None without a price."""

    n_calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None

    def __str__(self) -> str:
        text = (
            f"{self.n_calls} questions to the judge, about {self.input_tokens:,} tokens in and at "
            f"most about {self.output_tokens:,} out"
        )
        if self.usd is None:
            return f"{text}; price unknown (give --judge-price IN OUT, dollars per million tokens)"
        return f"{text}: about ${self.usd:.2f}" if self.usd >= 0.01 else f"{text}: under $0.01"


def estimate(requests: Iterable[Sequence[Mapping[str, str]]], price: Price | None) -> Estimate:
    """The cost of asking the judge each of `requests` (chat messages) once."""
    n_calls = input_tokens = 0
    for messages in requests:
        n_calls += 1
        input_tokens += sum(count_tokens(each["content"]) + MESSAGE_TOKENS for each in messages)
    output_tokens = n_calls * REPLY_TOKENS
    usd = price.of(input_tokens, output_tokens) if price else None
    return Estimate(n_calls, input_tokens, output_tokens, usd)


def count_tokens(text: str) -> int:
    """Tokens of a text, roughly: four ASCII characters make one, any other character is one."""
    n_ascii = sum(char.isascii() for char in text)
    return math.ceil(n_ascii / 4) + len(text) - n_ascii


def known_price(model: str) -> Price | None:
    """The price that data/judges.json lists for a model; None if it lists none."""
    listed = json.loads(data_path("judges.json").read_text(encoding="utf-8"))["judges"].get(model)
    return (
        Price(listed["input_usd_per_million"], listed["output_usd_per_million"]) if listed else None
    )
