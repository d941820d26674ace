"""The stores by the clock agree in what they compute; a trained model speaks through an arena."""

import dataclasses

import pytest
import torch

from labkit import zoo
from labkit.kv_cache import (
    ArenaCache,
    PagedCache,
    RingCache,
    forward_cached,
    generate,
    rotate,
)
from labkit.labs.kv_cache import experiments
from labkit.labs.kv_cache.experiments import LENGTHS
from labkit.labs.kv_cache.one_kernel import ONE_KERNEL
from labkit.labs.kv_cache.paged_rows import PagedRows
from labkit.labs.kv_cache.quantised import QuantisedArena
from labkit.labs.kv_cache.speech import BUGS, QwenParts, WithBug
from labkit.labs.kv_cache.stores import BLOCK_SIZES, ways_of
from labkit.measuring.profiles import PROFILES
from labkit.measuring.records import recorded_results


@pytest.mark.parametrize("n_cached", [1, 255, 300])
def test_all_stores_give_the_same_attention_and_can_run_again(n_cached):
    ways = ways_of(ArenaCache, PagedCache, n_cached)
    assert len(ways) == 2 + 2 * len(BLOCK_SIZES)
    for run in [*ways.values(), *ways.values()]:
        torch.testing.assert_close(run(), ways["concatenation"]())


def test_a_row_for_each_store_and_length_is_recorded_once():
    cpu = dataclasses.replace(PROFILES["cpu"])
    rows = list(experiments.cache_stores(cpu, (20, 40), n_samples=2))
    assert len(rows) == 2 * (2 + 2 * len(BLOCK_SIZES)) == len({row.key for row in rows})
    assert all(row.time_s > 0 for row in rows)
    done = {row.key for row in rows}
    assert not list(experiments.cache_stores(cpu, (20, 40), is_done=done.__contains__))


def test_the_text_says_what_the_record_of_a_card_has():
    rows = recorded_results("stores-*.jsonl")["stores-h100"].of("cache_stores")
    times = {(row.setting, row.n_input): row.time_s for row in rows}
    for n in LENGTHS["cuda"]:
        assert 1.115 < times["concatenation", n] / times["arena", n] < 1.165
        assert times["pages of 16, gathered", n] > times["concatenation", n]
    kernel = {n: times[ONE_KERNEL, n] / times["arena", n] for n in LENGTHS["cuda"]}
    assert kernel[4096] > 1 and kernel[65_536] == pytest.approx(1 / 3, abs=0.03)
    assert times["pages of 16, walked", 65_536] == pytest.approx(0.7, abs=0.05)


def in_arena(*sizes):
    return ArenaCache(*sizes)


def in_ring(*sizes):
    return RingCache(*sizes)


def in_pages(n_layers, batch, n_kv_heads, head_dim, n_tokens):
    pages = (batch * -(-n_tokens // 4), 4, n_kv_heads, head_dim)
    return PagedRows(PagedCache(*pages) for _ in range(n_layers))


def in_8_bits(*sizes):
    return QuantisedArena(ArenaCache, *sizes)


TEXT = "Once upon a time,"


@pytest.fixture(scope="module")
def loaded():
    return zoo.load("tiny-target", profile="cpu")


@pytest.fixture(scope="module")
def speak(loaded):
    """speak(make_store, n_new, bug): the text after TEXT, through the lab's own functions."""
    parts, tokens = QwenParts(loaded.model), loaded.tokenizer(TEXT, return_tensors="pt").input_ids

    def speak(make_store, n_new, bug=""):
        store = WithBug(make_store(*parts.sizes, tokens.shape[1] + n_new), bug)
        after = generate(lambda fed: forward_cached(parts, fed, store, rotate), tokens, n_new)
        return loaded.tokenizer.decode(after[0, tokens.shape[1] :])

    return speak


@pytest.mark.parametrize("make_store", [in_arena, in_ring, in_pages, in_8_bits])
def test_a_trained_model_speaks_through_each_store_as_with_its_own_cache(loaded, speak, make_store):
    tokens = loaded.tokenizer(TEXT, return_tensors="pt").input_ids
    own = loaded.model.generate(tokens, max_new_tokens=12, do_sample=False)[0, tokens.shape[1] :]
    assert speak(make_store, 12) == loaded.tokenizer.decode(own)


def test_each_bug_changes_the_text(speak):
    said = {bug: speak(in_arena, 12, bug) for bug in BUGS}
    assert len(set(said.values())) == len(BUGS)


def test_a_ring_that_is_too_short_for_the_text_changes_what_is_said(speak):
    texts = {speak(make, 24) for make in (in_arena, short_ring)}
    assert len(texts) == 2


def short_ring(n_layers, batch, n_kv_heads, head_dim, n_tokens):
    return RingCache(n_layers, batch, n_kv_heads, head_dim, 3)
