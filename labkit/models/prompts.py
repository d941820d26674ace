"""The prompts of the labs' experiments: twenty short ones of four sources, and a long one."""

import json
from dataclasses import dataclass
from functools import cache

from labkit.models.facts import data_path


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt, and the source of the corpus that it comes from."""

    id: str
    source: str
    text: str


def prompts(source: str | None = None) -> list[Prompt]:
    """The twenty prompts, or the five of one source.

    Raises: ValueError for a source that has no prompts.
    """
    sources = {prompt.source for prompt in _prompts()}
    if source is not None and source not in sources:
        raise ValueError(f"no prompts of source {source!r}; there are {', '.join(sorted(sources))}")
    return [prompt for prompt in _prompts() if source in (None, prompt.source)]


@cache
def long_prompt() -> str:
    """A book of some 135,000 characters: about 32,000 tokens for the handout's models."""
    return data_path("long_prompt.txt").read_text(encoding="utf-8")


@cache
def _prompts() -> tuple[Prompt, ...]:
    lines = data_path("prompts.jsonl").read_text(encoding="utf-8").splitlines()
    records = map(json.loads, lines)
    return tuple(Prompt(each["id"], each["source"], each["prompt"]) for each in records)
