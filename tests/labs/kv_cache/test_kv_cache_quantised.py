"""A quantised arena keeps tokens to half a step of their own scale."""

import pytest
import torch

from labkit.kv_cache import ArenaCache
from labkit.labs.kv_cache.quantised import (
    QuantisedArena,
    bytes_per_token,
    quantisation_errors,
    quantise,
)
from labkit.models.transformer import causal_mask


def test_an_error_is_at_most_half_a_step_of_its_own_scale():
    x = torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0))
    numbers, scales = quantise(x)
    assert numbers.dtype == torch.int8
    assert ((numbers * scales - x).abs() <= scales / 2 + 1e-6).all()
    assert (quantise(torch.zeros(1, 2))[0] == 0).all()


def test_a_large_head_spoils_the_others_only_where_all_share_a_scale():
    rng = torch.Generator().manual_seed(0)
    errors = quantisation_errors(lambda: torch.randn(8, 32, 64, generator=rng))
    assert max(errors["each head and token"]) < 0.03
    assert errors["the whole tensor"][1] > 0.5


def test_a_token_takes_about_half_the_bytes():
    assert bytes_per_token(64, 8, 2) / bytes_per_token(64, 8, 1, 4) == pytest.approx(1.88, abs=0.01)


def test_an_arena_returns_all_tokens_as_they_were_within_half_a_step():
    arena, given = QuantisedArena(ArenaCache, 2, 1, 2, 4, 6), torch.randn(2, 1, 2, 5, 4)
    for start, end in ((0, 2), (2, 5)):
        for layer in (0, 1):
            got = arena.append(layer, *given[:, :, :, start:end])
    assert arena.length == 5
    *numbers, mask = got
    torch.testing.assert_close(torch.stack(numbers), given, atol=0.03, rtol=0)
    assert torch.equal(mask, causal_mask(5)[2:])
