"""The stores by the clock agree in what they compute; a trained model speaks through an arena."""

import dataclasses

import pytest
import torch

from labkit import zoo
from labkit.kv_cache import ArenaCache, PagedCache, RingCache
from labkit.labs.kv_cache import experiments
from labkit.labs.kv_cache.experiments import LENGTHS
from labkit.labs.kv_cache.one_kernel import ONE_KERNEL
from labkit.labs.kv_cache.paged_rows import PagedRows
from labkit.labs.kv_cache.quantised import in_quantised_arena
from labkit.labs.kv_cache.speech import BUGS, speak
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


def in_arena(sizes, n_tokens, device):
    return ArenaCache(*sizes, n_tokens, device=device)


def in_ring(sizes, n_tokens, device):
    return RingCache(*sizes, n_tokens, device=device)


def in_pages(sizes, n_tokens, device):
    n_layers, batch, *shape = sizes
    return PagedRows(
        PagedCache(batch * -(-n_tokens // 4), 4, *shape, device=device) for _ in range(n_layers)
    )


TEXT = "Once upon a time,"


@pytest.fixture(scope="module")
def loaded():
    return zoo.load("tiny-target", profile="cpu")


@pytest.mark.parametrize("make_store", [in_arena, in_ring, in_pages, in_quantised_arena])
def test_a_trained_model_speaks_through_each_store_as_with_its_own_cache(loaded, make_store):
    tokens = loaded.tokenizer(TEXT, return_tensors="pt").input_ids
    own = loaded.model.generate(tokens, max_new_tokens=12, do_sample=False)[0, tokens.shape[1] :]
    assert speak(loaded, make_store, TEXT, 12) == loaded.tokenizer.decode(own)


def test_each_bug_changes_the_text(loaded):
    said = {bug: speak(loaded, in_arena, TEXT, 12, bug) for bug in BUGS}
    assert len(set(said.values())) == len(BUGS)


def test_a_ring_that_is_too_short_for_the_text_changes_what_is_said(loaded):
    texts = {speak(loaded, make, TEXT, 24) for make in (in_arena, short_ring)}
    assert len(texts) == 2


def short_ring(sizes, n_tokens, device):
    return in_ring(sizes, 3, device)
