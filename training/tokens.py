"""Rows of tokens to train on, made by many processes at once."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
from tokenizers import Tokenizer

from training.corpus import END_OF_TEXT, SOURCES, draw, prose, world

# How often each kind of text is drawn; documents differ in length, so shares of tokens differ.
SHARES = {"graph": 20, "instruction": 30, "choice": 40, "pattern": 25, "chapter": 2, "card": 6}


def texts(rng: Random) -> Iterator[str]:
    """Training texts without end: documents of the training split, chapters, cards of the world."""
    kinds, weights = list(SHARES), list(SHARES.values())
    while True:
        kind = rng.choices(kinds, weights)[0]
        if kind in SOURCES:
            document = draw(kind, rng)
            if document.split == "train":
                yield document.text
        else:
            yield prose.chapter(rng) if kind == "chapter" else card(rng)


def card(rng: Random) -> str:
    """The facts on a few things of the world, in any order: every single fact is taught."""
    told = [
        fact
        for entry in rng.sample(world.entries(), 4)
        for fact in world.statements(*entry).values()
    ]
    rng.shuffle(told)
    return " ".join(told)


def rows(tokenizer_file: Path, n_rows: int, length: int, seed: str) -> np.ndarray:
    """Rows of `length` tokens, each of whole documents but for the last, which is cut.

    A row begins with a document, so position 0 is trained as a prompt's first token.
    Shape: (n_rows, length), uint16.
    """
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    end = tokenizer.token_to_id(END_OF_TEXT)
    source = texts(Random(seed))
    made = np.empty((n_rows, length), dtype=np.uint16)
    for row in made:
        n_filled = 0
        while n_filled < length:
            ids = [*tokenizer.encode(next(source)).ids, end][: length - n_filled]
            row[n_filled : n_filled + len(ids)] = ids
            n_filled += len(ids)
    return made


def rows_in_parallel(
    tokenizer_file: Path, n_rows: int, length: int, seed: int, n_workers: int
) -> np.ndarray:
    """`n_rows` rows, made in `n_workers` processes; the result depends on both numbers."""
    each = -(-n_rows // n_workers)
    with ProcessPoolExecutor(n_workers) as pool:
        parts = [
            pool.submit(rows, tokenizer_file, each, length, f"rows:{length}:{seed}:{i}")
            for i in range(n_workers)
        ]
        return np.concatenate([part.result() for part in parts])[:n_rows]
