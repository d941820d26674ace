"""What holds of the arena: a test for each line of its docstring, under the number of the line."""

from __future__ import annotations

import re
from functools import cache

import pytest
import torch

from labkit import zoo
from labkit.engine import arena
from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.speculative import speculative

N_POSITIONS = 64


@cache
def weights(name="tiny-target"):
    return weights_of(zoo.load(name).model, N_POSITIONS)


def made(n_sequences=1):
    return Decoder(weights(), N_POSITIONS, n_sequences)


def some_tokens(n, n_sequences=1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 4000, (n_sequences, n), generator=generator)


def contents(decoder):
    """Keys and values (2 L B Hkv S D), copied."""
    return torch.stack([decoder.arena.keys, decoder.arena.values])


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=2e-4)


def test_each_line_has_its_test():
    lines = re.findall(r"^(\d+)\. ", arena.__doc__, re.MULTILINE)
    tests = [re.match(r"test_(\d+)_", name) for name in globals()]
    assert lines == [match[1] for match in tests if match]


def test_1_a_position_is_the_number_of_tokens_before():
    """A first layer's key at position i is the one at position 0, turned by the angle of i."""
    decoder = made()
    decoder.feed(torch.full((1, 20), 7))
    decoder.feed(torch.full((1, 1), 7))
    low, high = decoder.arena.keys[0, 0, :, :21].chunk(2, dim=-1)
    cos, sin = weights().cos[:21], weights().sin[:21]
    first_low, first_high = low[:, :1], high[:, :1]
    close(low, first_low * cos - first_high * sin)
    close(high, first_high * cos + first_low * sin)


@pytest.mark.parametrize("n_new", [1, 5])
def test_2_a_step_writes_behind_the_length_and_nowhere_else(n_new):
    decoder = made(n_sequences=2)
    decoder.feed(some_tokens(12, 2))
    decoder.arena.rewind(torch.tensor([12, 7]))
    before = contents(decoder)
    decoder.forward(some_tokens(n_new, 2, seed=1))
    is_changed = (contents(decoder) != before).any(dim=-1).all(dim=3)  # 2 L B S: in all heads
    for sequence, length in enumerate((12, 7)):
        wanted = torch.zeros(N_POSITIONS, dtype=torch.bool)
        wanted[length : length + n_new] = True
        assert (is_changed[:, :, sequence] == wanted).all()
        assert torch.equal(
            contents(decoder)[:, :, sequence, :, ~wanted], before[:, :, sequence, :, ~wanted]
        )


def test_3_a_token_sees_itself_and_what_is_before():
    tokens, others = some_tokens(12), some_tokens(12, seed=1)
    wanted = made().feed(tokens)
    for n_same in range(1, 12):
        found = made().feed(torch.cat([tokens[:, :n_same], others[:, n_same:]], dim=1))
        close(found[:, :n_same], wanted[:, :n_same])
        assert (found[:, n_same:] - wanted[:, n_same:]).abs().amax(dim=-1).min() > 0.01
    last = made().feed(torch.cat([others[:, :1], tokens[:, 1:]], dim=1))
    assert (last[:, -1] - wanted[:, -1]).abs().max() > 1e-3  # the first token is still seen


@pytest.mark.parametrize("n_new", [1, 4])
def test_4_what_lies_beyond_has_no_influence(n_new):
    tokens, lengths, found = some_tokens(20, 2), torch.tensor([20, 9]), []
    for rubbish in (0.0, 1e4):
        decoder = made(n_sequences=2)
        decoder.feed(tokens)
        decoder.arena.rewind(lengths)
        for sequence, length in enumerate(lengths):
            decoder.arena.keys[:, sequence, :, length:] = rubbish
            decoder.arena.values[:, sequence, :, length:] = rubbish
        found.append(decoder.forward(some_tokens(n_new, 2, seed=1)))
    assert torch.equal(*found)


def test_5_sequences_have_their_own_lengths_and_no_influence_on_each_other():
    lengths, tokens, new = torch.tensor([3, 11, 8]), some_tokens(11, 3), some_tokens(2, 3, seed=1)
    together = made(n_sequences=3)
    together.feed(tokens)
    together.arena.rewind(lengths)
    found = together.feed(new)
    for sequence, length in enumerate(lengths):
        alone = made()
        alone.feed(tokens[sequence : sequence + 1, :length])
        close(found[sequence], alone.feed(new[sequence : sequence + 1])[0])
    assert together.arena.lengths.tolist() == [5, 13, 10]


def test_6_forward_leaves_lengths_alone_and_feed_adds():
    decoder = made(n_sequences=2)
    decoder.arena.rewind(torch.tensor([4, 6]))
    first = decoder.forward(some_tokens(3, 2))
    assert decoder.arena.lengths.tolist() == [4, 6]
    assert torch.equal(decoder.feed(some_tokens(3, 2)), first)
    assert decoder.arena.lengths.tolist() == [7, 9]


def test_7_what_does_not_fit_changes_nothing():
    decoder = made(n_sequences=2)
    decoder.feed(some_tokens(N_POSITIONS - 2, 2))
    decoder.arena.rewind(torch.tensor([3, N_POSITIONS - 2]))
    before = contents(decoder)
    with pytest.raises(ValueError, match="wanted room for 65 tokens, the arena has 64 positions"):
        decoder.feed(some_tokens(3, 2))
    assert torch.equal(contents(decoder), before)
    assert decoder.arena.lengths.tolist() == [3, N_POSITIONS - 2]
    decoder.feed(some_tokens(2, 2))
    for length in (-1, N_POSITIONS + 1):
        with pytest.raises(ValueError, match=f"from 0 to the 64 positions, got {length}"):
            decoder.arena.rewind(length)
    assert decoder.arena.lengths.tolist() == [5, N_POSITIONS]


@pytest.mark.parametrize("n_kept", [0, 1, 39, 40])
def test_8_taking_back_sets_a_length_and_touches_no_key(n_kept):
    decoder = made()
    decoder.feed(some_tokens(40))
    tensors = (decoder.arena.keys, decoder.arena.values)
    before = contents(decoder), [each._version for each in tensors]  # counts writes in place
    decoder.arena.rewind(n_kept)
    assert decoder.arena.lengths.tolist() == [n_kept]
    assert [each._version for each in tensors] == before[1]
    assert torch.equal(contents(decoder), before[0])


@pytest.mark.parametrize("n_wrong", [1, 2, 9])
def test_9_what_was_taken_back_leaves_no_trace(n_wrong):
    found = []
    for with_detour in (False, True):
        decoder = made()
        decoder.feed(some_tokens(10))
        if with_detour:
            decoder.feed(some_tokens(n_wrong, seed=1))
            decoder.arena.rewind(10)
        steps = [decoder.feed(some_tokens(n, seed=2)) for n in (1, 4)]
        found.append((torch.cat(steps, dim=1), contents(decoder)[..., :15, :]))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_10_no_step_makes_a_new_arena():
    decoders = [made(), Decoder(weights("tiny-draft"), N_POSITIONS)]
    tensors = [(one.arena.keys, one.arena.values, one.arena.lengths) for one in decoders]
    places = [[each.data_ptr() for each in ours] for ours in tensors]
    torch.manual_seed(0)
    for gamma in (1, 5):
        speculative(*map(EngineModel, decoders), range(5, 25), 30, gamma)
    for decoder, ours, where in zip(decoders, tensors, places, strict=True):
        held = (decoder.arena.keys, decoder.arena.values, decoder.arena.lengths)
        assert all(mine is theirs for mine, theirs in zip(held, ours, strict=True))
        assert [each.data_ptr() for each in held] == where
