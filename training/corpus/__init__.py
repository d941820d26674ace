"""The corpus that the tiny model pair is trained on, and that the shared tasks draw from.

Four sources of different predictability: `graph` (cheapest paths, worked out), `instruction`
(stories, explanations, letters ...), `choice` (questions on an invented world, with reasoning) and
`pattern` (repetition and arithmetic). Everything is generated here, from a seed.
"""

from collections.abc import Iterator
from random import Random

from training.corpus import choice, graphs, patterns, prose
from training.corpus.document import END_OF_TEXT, SPLITS, Document, split_of

__all__ = [
    "END_OF_TEXT",
    "SOURCES",
    "SPLITS",
    "Document",
    "documents",
    "draw",
    "split_of",
    "stream",
]

_DRAWS = {
    "graph": graphs.draw,
    "instruction": prose.draw,
    "choice": choice.draw,
    "pattern": patterns.draw,
}
SOURCES = tuple(_DRAWS)


def draw(source: str, rng: Random) -> Document:
    """One document of a source, of whatever split it falls into.

    Raises: ValueError for a source that does not exist.
    """
    if source not in _DRAWS:
        raise ValueError(f"no source called {source!r}; there are {', '.join(SOURCES)}")
    return _DRAWS[source](rng)


def stream(source: str, split: str, seed: int = 0) -> Iterator[Document]:
    """Documents of one source and split, without end, in an order that the seed decides.

    Raises: ValueError for a source or a split that does not exist.
    """
    if split not in SPLITS:
        raise ValueError(f"no split called {split!r}; there are {', '.join(SPLITS)}")
    rng = Random(f"{source}:{split}:{seed}")
    while True:
        document = draw(source, rng)
        if document.split == split:
            yield document


def documents(source: str, split: str, n: int, seed: int = 0) -> list[Document]:
    """The first `n` documents of a stream whose prompts differ."""
    kept: dict[str, Document] = {}
    for document in stream(source, split, seed):
        kept.setdefault(document.prompt, document)
        if len(kept) == n:
            break
    return list(kept.values())
