"""What the corpus is made of: documents, each a prompt and its answer, and their splits."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SPLITS = ("train", "dev", "dev-test", "hidden")
END_OF_TEXT = "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Document:
    """One problem, worked out.

    `prompt` ends where the answer begins, without trailing white space; `answer` begins with the
    white space that parts the two, and has none at its end. `key` decides the split: all documents
    of one key are in the same. For questions it is the chain of facts that is asked for, whatever
    the wording and the options; for graphs the graph and the number of paths; for instructions the
    task with its main choices; for patterns the prompt. `facts` holds what a scorer needs, in plain
    JSON values.
    """

    source: str
    key: str
    prompt: str
    answer: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.prompt + self.answer

    @property
    def split(self) -> str:
        return split_of(f"{self.source}:{self.key}")


def split_of(key: str) -> str:
    """The split that a key belongs to: a tenth each for dev, dev-test and hidden.

    It follows from the key itself, not from the order of drawing, so no key that a model was
    trained on turns up in a test, whatever the seeds. A near relative may: the same words repeated
    once more often, the same story with another thing to mention, the same sum the other way round.
    """
    slot = hashlib.sha256(key.encode()).digest()[0] % 10
    return {0: "dev", 1: "dev-test", 2: "hidden"}.get(slot, "train")
