"""The items of the shared tasks, by split, and the score that an answer to one of them gets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SPLIT_SIZES = {"dev": 200, "dev-test": 100, "hidden": 100}
SOURCES = {"paths": "graph", "choice": "choice", "open": "instruction"}
TASKS = tuple(SOURCES)


@dataclass(frozen=True, slots=True)
class Item:
    """One problem of a task: what the model is shown, and the facts that its scorer needs.

    `id` is for instance "paths/dev-test/017"; `reference` is the answer that the corpus gives.
    """

    id: str
    task: str
    prompt: str
    facts: Mapping[str, Any]
    reference: str


@dataclass(frozen=True, slots=True)
class Score:
    """What an answer is worth, from 0 to 1, and why, in words.

    value: None while the answer waits for a judge. is_valid: False when the answer is not of the
    form that was asked for; its value is then 0.
    """

    value: float | None
    reason: str
    is_valid: bool = True


def items(task: str, split: str, seed: int = 0, n: int | None = None) -> list[Item]:
    """The items of one task and split, always the same for the same seed; the first `n` if given.

    "dev-test" is for the results one reports, "dev" for tuning, "hidden" for a final comparison:
    whoever runs that one chooses a `seed` and keeps it. An item's split follows from the problem
    itself, so no seed can bring a problem of one split into another.
    Raises: ValueError for a task or split that does not exist, or more items than a split has.
    """
    from training.corpus import documents

    if task not in SOURCES:
        raise ValueError(f"no task called {task!r}; there are {', '.join(TASKS)}")
    if split not in SPLIT_SIZES:
        raise ValueError(f"no split called {split!r}; there are {', '.join(SPLIT_SIZES)}")
    size = SPLIT_SIZES[split]
    if n is not None and not 1 <= n <= size:
        raise ValueError(f"{split} has {size} items of each task, so n is 1 to {size}, not {n}")
    drawn = documents(SOURCES[task], split, size if n is None else n, seed)
    return [
        Item(f"{task}/{split}/{i:03d}", task, drawn_one.prompt, drawn_one.facts, drawn_one.answer)
        for i, drawn_one in enumerate(drawn)
    ]
