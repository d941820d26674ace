"""Drafts without a model: what is likely to follow is copied from somewhere.

They stand where a draft model would in `labkit.speculative.speculative`. Their distributions are
one-hot, so that a proposed token x is accepted with probability target(x), and a rejected one
cannot come back: the text keeps the target's law.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labkit.labs.speculative.speculation.models import check_rewind
from labkit.speculative import ngram_draft

Propose = Callable[[list[int], int], list[int]]
N_AHEAD = 64  # tokens that a draft copies before it looks again


class CopyDraft:
    """A draft that proposes what `propose(tokens, n_most)` copies, one token after the other.

    It copies on as long as the text goes as the copy does, and looks again once it does not, or
    after a rewind has taken tokens away. Where there is nothing to copy, it proposes nothing.
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


class NGramDraft(CopyDraft):
    """Prompt lookup: copies what followed where the text read so before (`ngram_draft`)."""

    def __init__(self, vocab_size: int, longest: int = 3) -> None:
        """A draft with an empty cache. longest: tokens that must agree, less if that fails."""
        super().__init__(lambda tokens, n_most: ngram_draft(tokens, n_most, longest), vocab_size)


class ReferenceDraft(CopyDraft):
    """Copies from reference texts, where they go on from what was written last.

    Source: Inference with Reference (arXiv:2304.04487), section 3.
    """

    def __init__(
        self,
        vocab_size: int,
        references: Sequence[Sequence[int]],
        longest: int = 3,
        shortest: int = 1,
    ) -> None:
        """A draft with an empty cache. references: texts as tokens.

        longest, shortest: how many of the last tokens must agree, the longest match first.
        Raises: ValueError unless 1 <= shortest <= longest.
        """
        if not 1 <= shortest <= longest:
            raise ValueError(f"1 <= shortest <= longest is wanted; got {shortest} and {longest}")
        super().__init__(
            lambda tokens, n_most: reference_draft(tokens, n_most, references, longest, shortest),
            vocab_size,
        )


def reference_draft(
    tokens: Sequence[int],
    gamma: int,
    references: Sequence[Sequence[int]],
    longest: int = 3,
    shortest: int = 1,
) -> list[int]:
    """Up to gamma tokens that follow the text's last tokens in the first reference to have them.

    As `ngram_draft`, but looked for in other texts, not in this one. Nothing found: an empty list.
    """
    written = list(tokens)
    for n in range(min(longest, len(written)), shortest - 1, -1):
        for reference in references:
            for start in range(len(reference) - n):
                if list(reference[start : start + n]) == written[-n:]:
                    return list(reference[start + n : start + n + gamma])
    return []
