"""Where the time of a block goes."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from labkit import zoo
from labkit.engine import profiler
from labkit.engine.decoder import Decoder
from labkit.engine.profiler import PARTS, BlockTimes, PartTimes, Stopwatch, TimedSpeculation
from labkit.engine.samplers import Speculation
from labkit.engine.sampling import Warp
from labkit.engine.weights import weights_of


@pytest.fixture(scope="module")
def pair():
    loaded = zoo.load_pair("tiny")
    return [Decoder(weights_of(one.model, 128), 128) for one in (loaded.target, loaded.draft)]


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass only when a test says so."""
    now = [100.0]
    monkeypatch.setattr(profiler, "perf_counter", lambda: now[0])

    def let_pass(seconds):
        now[0] += seconds

    return let_pass


def test_each_part_gets_the_time_since_the_mark_before(clock):
    profile = PartTimes()
    watch = Stopwatch(profile, "cpu")
    for scale in (1, 2):
        watch.begin()
        for part, seconds in zip(PARTS, (0.5, 0.25, 0.125, 0.0625), strict=True):
            clock(scale * seconds)
            watch.mark(part)
        clock(scale)
        watch.end(4, scale)
        clock(50)
    first, second = profile.blocks
    assert first == BlockTimes(0.5, 0.25, 0.125, 0.0625, 1.9375, 4, 1)
    assert second == BlockTimes(1.0, 0.5, 0.25, 0.125, 3.875, 4, 2)
    assert profile.seconds("verify") == 0.75
    assert profile.seconds("total") == 5.8125


@pytest.fixture
def written(pair):
    """Blocks of speculation, whose steps are not captured on a CPU."""

    def write(make):
        torch.manual_seed(1)
        for decoder in pair:
            decoder.arena.rewind(0)
            decoder.feed(torch.arange(5, 20)[None])
        sampler = make(*pair, 4, Warp(1.0))
        sampler.begin(20)
        return [sampler.block() for _ in range(12)]

    return write


def test_parts_sum_to_the_total_and_blocks_are_those_of_the_run(written):
    profile = PartTimes()
    kept = [len(tokens) - 1 for tokens in written(partial(TimedSpeculation, profile))]
    assert [(block.n_drafted, block.n_kept) for block in profile.blocks] == [(4, n) for n in kept]
    total = profile.seconds("total")
    assert 0.95 * total <= sum(profile.seconds(part) for part in PARTS) <= total


def test_a_profile_changes_no_token(written):
    assert written(Speculation) == written(partial(TimedSpeculation, PartTimes()))


def test_a_part_without_a_mark_is_an_error(clock):
    watch = Stopwatch(PartTimes(), "cpu")
    for parts in (PARTS, ("draft", "accept", "cache")):
        watch.begin()
        for part in parts:
            watch.mark(part)
        if parts == PARTS:
            watch.end(1, 1)
        else:
            with pytest.raises(ValueError, match="ends without a mark for verify"):
                watch.end(1, 1)
