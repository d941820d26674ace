"""Do two models speak the same tokens? A draft's proposals mean nothing to a target otherwise."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from labkit.models.tiny import facts_of, has_facts

if TYPE_CHECKING:
    from labkit.zoo import LoadedModel

PROBE = 'Once  upon a time,\n\t12345 + 67 = 12412; naïve café, 你好 {"paths": [[0, 2]]} isn\'t it?'
_FIX = "Take two models of one family; labkit.zoo.PAIRS lists some."


def check_same_vocabulary(target: LoadedModel, draft: LoadedModel) -> None:
    """Raise unless two loaded models number the same tokens alike and cut text into them alike.

    Where one has no tokenizer, the facts have to do: width of the logits and tokenizer family.
    Raises: ValueError with the first difference.
    """
    difference = None
    if target.vocab_size != draft.vocab_size:
        difference = f"their logits have {target.vocab_size:,} and {draft.vocab_size:,} columns"
    elif target.tokenizer is None or draft.tokenizer is None:
        check_same_family(target.name, draft.name)
    else:
        difference = tokenizer_difference(target.tokenizer, draft.tokenizer)
    if difference:
        raise ValueError(f"{target.name} and {draft.name} cannot be a pair: {difference}. {_FIX}")


def check_same_family(target: str, draft: str) -> None:
    """Raise if the facts already say that two models cannot be a pair; models without pass.

    Raises: ValueError with the difference.
    """
    if not (has_facts(target) and has_facts(draft)):
        return
    facts, others = facts_of(target), facts_of(draft)
    for what in ("tokenizer_family", "vocab_size"):
        if facts[what] != others[what]:
            raise ValueError(
                f"{target} and {draft} cannot be a pair: {what} is {facts[what]} of the one and "
                f"{others[what]} of the other. {_FIX}"
            )


def tokenizer_difference(first: Any, second: Any) -> str | None:
    """The first way in which two tokenizers differ, in words; None if they are alike.

    Equal tokens are not enough: merge rules and preparation (of spaces, say) decide the cuts.
    """
    tokens, others = first.get_vocab(), second.get_vocab()
    if tokens != others:
        return _token_difference(tokens, others)
    if found := _first_difference(_merges(first), _merges(second)):
        rank, rule, other = found
        return (
            "they have the same tokens but cut text differently: merge rule "
            f"{rank} is {rule} in the one, {other} in the other"
        )
    if found := _first_difference(first.tokenize(PROBE), second.tokenize(PROBE)):
        at, piece, other = found
        return (
            "they have the same tokens and merge rules but prepare text differently: piece "
            f"{at} of a sentence is {piece!r} for the one, {other!r} for the other"
        )
    return None


def _token_difference(tokens: dict[str, int], others: dict[str, int]) -> str:
    token = min(
        (token for token in tokens | others if tokens.get(token) != others.get(token)),
        key=lambda token: (tokens.get(token, len(tokens)), others.get(token, len(others))),
    )
    ids = [f"number {known[token]}" if token in known else "no token" for known in (tokens, others)]
    return (
        f"their vocabularies differ ({len(tokens):,} and {len(others):,} tokens): {token!r} is "
        f"{ids[0]} in the one, {ids[1]} in the other"
    )


def _merges(tokenizer: Any) -> list[Any]:
    """The merge rules in order; none for a tokenizer that has no such list."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return [] if backend is None else json.loads(backend.to_str())["model"].get("merges") or []


def _first_difference(first: list[Any], second: list[Any]) -> tuple[int, Any, Any] | None:
    pairs = enumerate(zip_longest(first, second))
    return next(((i, one, other) for i, (one, other) in pairs if one != other), None)
