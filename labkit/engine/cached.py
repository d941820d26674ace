"""A decoder as a model with a cache: of one text, or of a batch whose rows have their own lengths.

So the samplers of lab 6 run on the engine; `captured` does the same work as CUDA graphs.
"""

import time
from collections.abc import Sequence

import torch
from torch import Tensor

from labkit.engine.decoder import Decoder
from labkit.models.arguments import check_empty, check_rewind
from labkit.models.sampling import on_cpu


class EngineBatch:
    """A decoder as a batch of cached models. feeds_s: seconds of each call; the first: the prompts.

    Every row is fed as many tokens as the longest; what a row gets too much lies beyond its length,
    where nothing reads it and the next tokens are written over it.
    """

    def __init__(self, decoder: Decoder) -> None:
        """With an empty cache of as many rows as the decoder has sequences."""
        self.vocab_size: int = decoder.shape.vocab_size
        self.feeds_s: list[float] = []
        self._decoder = decoder
        self._set([0] * decoder.arena.n_sequences)

    def n_cached(self) -> list[int]:
        """Tokens in the cache of each row."""
        return list(self._lengths)

    def feed(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Cache tokens of each row, if any, in one call; logits (B T V), on the CPU.

        Raises: ValueError for another number of rows, for no token at all, and for a row without
        room for the longest; nothing has been fed then.
        """
        start_s = time.perf_counter()
        n_longest = self._longest(rows)
        padded = [[*row, *[0] * (n_longest - len(row))] for row in rows]
        fed = torch.tensor(padded, device=self._decoder.weights.device)
        logits = on_cpu(self._decoder.forward(fed))
        self._set([n + len(row) for n, row in zip(self._lengths, rows, strict=True)])
        self.feeds_s.append(time.perf_counter() - start_s)
        return logits

    def rewind(self, n_cached: Sequence[int]) -> None:
        """Forget all but the first n_cached[i] tokens of row i.

        Raises: ValueError if a row has fewer; then none is changed.
        """
        for n, n_now in zip(n_cached, self._lengths, strict=True):
            check_rewind(n, n_now)
        self._set(list(n_cached))

    def _longest(self, rows: Sequence[Sequence[int]]) -> int:
        """How many tokens each row is fed. Raises: ValueError as `feed`."""
        if len(rows) != len(self._lengths):
            raise ValueError(
                f"feed one list of tokens per row: {len(self._lengths)} are wanted, "
                f"{len(rows)} came"
            )
        if not any(len(row) for row in rows):
            raise ValueError("feed at least one token in one of the rows")
        n_longest, n_positions = max(map(len, rows)), self._decoder.arena.n_positions
        if (n_wanted := max(self._lengths) + n_longest) > n_positions:
            raise ValueError(
                f"wanted room for {n_wanted} tokens, the arena has {n_positions} positions; "
                "make the decoder with more"
            )
        return n_longest

    def _set(self, lengths: list[int]) -> None:
        self._lengths, arena = lengths, self._decoder.arena
        arena.rewind(lengths[0] if len(lengths) == 1 else torch.tensor(lengths, dtype=torch.int32))


class EngineModel:
    """A decoder as `labkit.models.sampling.CachedModel`, by a batch of one.

    states: of the cached tokens, (S, d) and room for more; None unless a draft head wants them.
    """

    def __init__(self, decoder: Decoder) -> None:
        """Start with an empty cache: the arena's contents are dropped."""
        self.vocab_size: int = decoder.shape.vocab_size
        self.states: Tensor | None = None
        self._decoder, self._batch = decoder, EngineBatch(decoder)
        self.feeds_s = self._batch.feeds_s

    def n_cached(self) -> int:
        """Tokens in the cache."""
        return self._batch.n_cached()[0]

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Cache the tokens; logits (T V). Raises: ValueError for none, or without room for them."""
        n_before = self.n_cached()
        logits = self._batch.feed([tokens])[0]
        if self.states is not None:
            self.states[n_before : n_before + len(tokens)] = self._decoder.states
        return logits

    def keep_states(self) -> None:
        """From now on, keep `states`. Raises: ValueError unless the cache is empty."""
        check_empty(self)
        shape, weights = self._decoder.shape, self._decoder.weights
        n_positions = self._decoder.arena.n_positions
        self.states = torch.zeros(
            n_positions, shape.d_model, dtype=weights.dtype, device=weights.device
        )

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens. Raises: ValueError if there are fewer."""
        self._batch.rewind([n_cached])
