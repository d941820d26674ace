"""Models with a cache, as `labkit.models.sampling.CachedModel` describes them.

`TableModel` is a toy whose law can be worked out by hand; `TransformersModel` is the real thing.
Both also verify a token tree in one call (`feed_tree`, `keep`); see `trees`. `CopyDraft` is a draft
without a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor

from labkit.labs.speculative.trees import ancestor_mask, depths
from labkit.models.arguments import check_empty, check_rewind
from labkit.models.cached import cut, forward, new_cache
from labkit.models.sampling import on_cpu

Propose = Callable[[list[int], int], list[int]]
N_AHEAD = 64  # tokens that a draft copies before it looks again


def check_full_attention(model: Any) -> None:
    """Raise ValueError for a transformers model with layers that do not see the whole text."""
    window = getattr(model.config, "sliding_window", None)
    all_layers = ["sliding_attention" if window else "full_attention"]
    kinds = set(getattr(model.config, "layer_types", None) or all_layers)
    if kinds != {"full_attention"}:
        raise ValueError(f"all layers must have full attention for this; they have {sorted(kinds)}")


class TableModel:
    """A toy: the next token depends on the last two tokens of its own cache, by a table.

    So a cache with a token too many, too few or a wrong one shows as a wrong distribution. Index V
    of the table's first two axes stands for "no token there yet".
    """

    def __init__(self, table: Tensor) -> None:
        """A model with an empty cache. table: probabilities (V+1 V+1 V).

        Raises: ValueError for another shape or rows that are no distributions.
        """
        vocab_size = table.shape[-1]
        if table.shape != (vocab_size + 1, vocab_size + 1, vocab_size):
            raise ValueError(f"a table is (V+1 V+1 V), not {tuple(table.shape)}")
        if (table < 0).any() or not torch.allclose(table.sum(-1), torch.ones(()).to(table)):
            raise ValueError("each row of the table must be a distribution: no negatives, sum 1")
        self.vocab_size = vocab_size
        self._logits = table.log()
        self._tokens: list[int] = []

    @classmethod
    def random(cls, vocab_size: int, rng: Generator, spread: float = 1.0) -> TableModel:
        """A model with random probabilities, float64; the larger `spread`, the further apart."""
        shape = (vocab_size + 1, vocab_size + 1, vocab_size)
        return cls(torch.softmax(spread * torch.randn(shape, generator=rng).double(), dim=-1))

    @property
    def tokens(self) -> list[int]:
        """The tokens in the cache."""
        return list(self._tokens)

    def n_cached(self) -> int:
        """Tokens in the cache."""
        return len(self._tokens)

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Cache the tokens; logits (T V). Raises: ValueError for none, or one out of range."""
        return self.feed_tree(tokens, range(-1, len(tokens) - 1))

    def feed_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Cache a tree: node i stands behind node parents[i] < i, or behind the cache for -1.

        Shapes: logits (T V), row i after node i. The cache is no text until `keep` is called.
        Raises: ValueError for no token, or one out of range.
        """
        if len(tokens) == 0 or not all(0 <= token < self.vocab_size for token in tokens):
            raise ValueError(f"feed 1 token or more, from 0 to {self.vocab_size - 1}; got {tokens}")
        last = self._tokens[-1] if self._tokens else self.vocab_size
        before = [last if parent < 0 else tokens[parent] for parent in parents]
        self._tokens += tokens
        return self._logits[before, list(tokens)]

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens. Raises: ValueError if there are fewer."""
        check_rewind(n_cached, len(self._tokens))
        del self._tokens[n_cached:]

    def keep(self, n_cached: int, nodes: Sequence[int]) -> None:
        """Keep of what follows the first n_cached tokens only these, in this order."""
        self._tokens[n_cached:] = [self._tokens[n_cached + node] for node in nodes]


class TransformersModel:
    """A causal model of transformers with its KV cache, one text at a time.

    Its logits come to the CPU, float32, wherever the model is: so samplers and their generators
    are the same on every machine. A rewind cuts views and copies nothing. But the library's cache
    grows by copying itself, at every call: the price of this plain form.

    states: what the last layer gave for each cached token, (S d); None unless a draft head wants
    them.
    """

    def __init__(self, model: Any) -> None:
        """The model as it was loaded, with an empty cache."""
        self.vocab_size: int = model.config.vocab_size
        self.states: Tensor | None = None
        self._model = model
        self._cache = new_cache()  # of all tokens, so that any of them can be taken back

    def n_cached(self) -> int:
        """Tokens in the cache."""
        return self._cache.get_seq_length()

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Cache the tokens; logits (T V). Raises: ValueError for none."""
        return self._forward(tokens)

    def feed_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Cache a tree: node i stands behind node parents[i] < i, or behind the cache for -1.

        Each node sees the cache, its ancestors and itself, at the position of its depth.

        Shapes: logits (T V), row i after node i. The cache is no text until `keep` is called.
        Raises: ValueError for no token, for more than the context holds, and for a model whose
        layers do not all see the whole text.
        """
        check_full_attention(self._model)
        n_cached, n_nodes = self.n_cached(), len(tokens)
        most = getattr(self._model.config, "max_position_embeddings", None)
        if most is not None and n_cached + n_nodes > most:
            raise ValueError(
                f"a tree of {n_nodes} nodes does not fit after {n_cached} cached tokens: the "
                f"model's context holds {most}"
            )
        seen = torch.ones(n_nodes, n_cached + n_nodes, dtype=torch.bool)
        seen[:, n_cached:] = ancestor_mask(parents)
        mask = torch.zeros(seen.shape, dtype=self._model.dtype)
        mask.masked_fill_(~seen, torch.finfo(mask.dtype).min)
        positions = torch.tensor([[n_cached + depth for depth in depths(parents)]])
        device = self._model.device
        return self._forward(
            tokens,
            attention_mask=mask[None, None].to(device),
            position_ids=positions.to(device),
        )

    def _forward(self, tokens: Sequence[int], **settings: Tensor) -> Tensor:
        if len(tokens) == 0:
            raise ValueError("feed at least one token")
        fed = torch.tensor([list(tokens)], device=self._model.device)
        with torch.inference_mode():
            if self.states is None:
                logits = forward(self._model, fed, self._cache, **settings).logits
            else:
                with self._states_kept():
                    logits = forward(self._model, fed, self._cache, **settings).logits
        return on_cpu(logits[0])

    def keep_states(self) -> None:
        """From now on, keep `states`. Raises: ValueError unless the cache is empty."""
        check_empty(self)
        width, model = self._model.config.hidden_size, self._model
        self.states = torch.zeros(0, width, dtype=model.dtype, device=model.device)

    @contextmanager
    def _states_kept(self) -> Iterator[None]:
        """What the last norm of the model is given meanwhile joins the states."""
        n_before = self.n_cached()

        def keep(norm: Any, given: tuple[Tensor]) -> None:
            self.states = torch.cat([self.states[:n_before], given[0][0]])

        hook = self._model.base_model.norm.register_forward_pre_hook(keep)
        try:
            yield
        finally:
            hook.remove()

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens. Raises: ValueError if there are fewer."""
        n_now = self.n_cached()
        check_rewind(n_cached, n_now)
        if n_cached == 0:
            self._cache = new_cache()
        elif n_cached < n_now:
            cut(self._cache, slice(n_cached))

    def keep(self, n_cached: int, nodes: Sequence[int]) -> None:
        """Keep of what follows the first n_cached tokens only these, in this order."""
        kept = torch.tensor([*range(n_cached), *(n_cached + node for node in nodes)])
        cut(self._cache, kept.to(self._model.device))
        if self.states is not None:
            self.states = self.states[kept]


class CopyDraft:
    """A draft that proposes what `propose(tokens, n_most)` copies, one token after the other.

    It copies on as long as the text goes as the copy does, and looks again once it does not, or
    after a rewind has taken tokens away. Where there is nothing to copy, it proposes nothing. Its
    distributions are one-hot: a proposed token x is accepted with probability target(x), and one
    that was rejected cannot come back.
    """

    def __init__(self, propose: Propose, vocab_size: int) -> None:
        """A draft with an empty cache; propose: as `ngram_draft`, of the whole text so far."""
        self.vocab_size = vocab_size
        self._propose = propose
        self._tokens: list[int] = []
        self._ahead: list[int] = []

    def n_cached(self) -> int:
        """Tokens in the cache."""
        return len(self._tokens)

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Cache the tokens; logits (T V) with 0 for the proposed token and -inf for all others.

        Only the last row proposes, for only it is drafted from; the others are -inf.
        Raises: ValueError for no token.
        """
        if len(tokens) == 0:
            raise ValueError("feed at least one token")
        self._tokens += tokens
        ahead, n_fed = self._ahead, len(tokens)
        self._ahead = ahead[n_fed:] if ahead[:n_fed] == list(tokens) else []
        if not self._ahead:
            self._ahead = self._propose(list(self._tokens), N_AHEAD)
        logits = torch.full((n_fed, self.vocab_size), -torch.inf)
        if self._ahead:
            logits[-1, self._ahead[0]] = 0
        return logits

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens. Raises: ValueError if there are fewer."""
        check_rewind(n_cached, len(self._tokens))
        if n_cached < len(self._tokens):
            del self._tokens[n_cached:]
            self._ahead = []


class Counted:
    """A model that counts its calls: n_feeds calls, n_fed tokens in all of them together."""

    def __init__(self, model: Any) -> None:
        """Counts of nothing yet, around a model that works as before."""
        self.n_feeds = self.n_fed = 0
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """As the model's, counted."""
        self._count(tokens)
        return self._model.feed(tokens)

    def feed_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """As the model's, counted."""
        self._count(tokens)
        return self._model.feed_tree(tokens, parents)

    def _count(self, tokens: Sequence[int]) -> None:
        self.n_feeds += 1
        self.n_fed += len(tokens)
