"""Batches of texts on the engine, each row with its own length; the sweep over batch sizes."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Generator, Tensor

from labkit.engine.decoder import Decoder
from labkit.engine.sampling import warped
from labkit.labs.speculative.records import ALONE
from labkit.labs.speculative.runs import Played, SampledPair, Task, Text
from labkit.labs.speculative.speculation.batch_models import check_fed
from labkit.labs.speculative.speculation.batched import speculative_batch
from labkit.labs.speculative.speculation.models import check_rewind
from labkit.measuring.records import IsDone, Row
from labkit.models.sampling import Block


class EngineBatch:
    """A decoder of the engine as `speculation.batched.BatchModel`; see `EngineModel`.

    Every row is fed as many tokens as the longest; what a row gets too much lies beyond its length,
    where nothing reads it and the next tokens are written over it.
    """

    def __init__(self, decoder: Decoder) -> None:
        """With an empty cache of as many rows as the decoder has sequences."""
        self.vocab_size: int = decoder.shape.vocab_size
        self.feeds_s: list[float] = []
        self._decoder, self._lengths = decoder, [0] * decoder.arena.n_sequences
        decoder.arena.rewind(0)

    def n_cached(self) -> list[int]:
        """Tokens in the cache of each row."""
        return list(self._lengths)

    def feed(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Cache tokens of each row, if any, in one call; logits (B T V)."""
        check_fed(rows, len(self._lengths))
        start_s = time.perf_counter()
        n_longest = max(map(len, rows))
        padded = [[*row, *[0] * (n_longest - len(row))] for row in rows]
        logits = self._decoder.forward(torch.tensor(padded, device=self._decoder.weights.device))
        self._set([n + len(row) for n, row in zip(self._lengths, rows, strict=True)])
        self.feeds_s.append(time.perf_counter() - start_s)
        return logits

    def rewind(self, n_cached: Sequence[int]) -> None:
        """Forget all but the first n_cached[i] tokens of row i. Raises: ValueError if too few."""
        for n, n_now in zip(n_cached, self._lengths, strict=True):
            check_rewind(n, n_now)
        self._set(list(n_cached))

    def _set(self, lengths: list[int]) -> None:
        self._lengths = lengths
        self._decoder.arena.rewind(torch.tensor(lengths, dtype=torch.int32))


def by_batch_size(
    models: SampledPair, task: Task, gamma: int, sizes: Sequence[int], is_done: IsDone
) -> Iterator[Row]:
    """Rows of the target alone and with its draft, in batches of each size, which take turns.

    n_new: of a row of the batch, over all batches. Texts that do not fill a batch are left out, so
    sizes that divide their number compare the same texts.
    """
    texts = models.texts(task.n_per_source)
    for size in sizes:
        batches = [texts[i : i + size] for i in range(0, len(texts) - size + 1, size)]
        row = replace(
            task.row("batch_sweep", models.name, texts, ALONE),
            batch_size=size,
            n_new=task.n_new * len(batches),
        )
        rows = [row, replace(row, setting=f"gamma {gamma}")]
        if all(is_done(row.key) for row in rows):
            continue
        decoders = [
            Decoder(each.weights, each.arena.n_positions, size)
            for each in (models.target, models.draft)
        ]
        named = [Text(f"batch {i}", "", ()) for i in range(len(batches))]
        rng, found = Generator().manual_seed(task.seed), [Played() for _ in rows]
        for _ in range(task.n_samples):
            for name, batch in zip(named, batches, strict=True):
                for n_drafts, seen in zip((0, gamma), found, strict=True):
                    _play(decoders, name.id, batch, task, n_drafts, rng, seen)
        for row, seen in zip(rows, found, strict=True):
            yield seen.filled(row, named)


def _play(
    decoders: Sequence[Decoder],
    name: str,
    batch: Sequence[Text],
    task: Task,
    gamma: int,
    rng: Generator,
    played: Played,
) -> None:
    """One batch, alone (gamma 0) or with the draft."""
    blocks: list[Block] = []
    prompts = [list(text.tokens) for text in batch]
    models = [EngineBatch(decoder) for decoder in decoders[: 2 if gamma else 1]]
    start_s = time.perf_counter()
    if gamma:
        words = {"temperature": task.temperature, "rng": rng, "blocks": blocks}
        speculative_batch(*models, prompts, task.n_new, gamma, **words)
    else:
        _alone(models[0], prompts, task, rng)
    seconds, names = time.perf_counter() - start_s, ("target", "draft")
    feeds_s = {each: model.feeds_s for each, model in zip(names, models, strict=False)}
    played.add(name, seconds, blocks, feeds_s)


def _alone(target: EngineBatch, texts: list[list[int]], task: Task, rng: Generator) -> None:
    """Tokens one by one, of all rows at once."""
    fed = texts
    for _ in range(task.n_new):
        logits = target.feed(fed)
        ends = torch.tensor([len(row) - 1 for row in fed])
        last = logits[torch.arange(len(fed)), ends]
        probs = warped(last, task.temperature).softmax(dim=-1)
        fed = torch.multinomial(probs, 1, generator=rng).tolist()
