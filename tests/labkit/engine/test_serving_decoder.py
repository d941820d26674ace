"""A pass over packed prompts and running requests: as if each request were alone."""

import pytest
import torch
from test_engine import model, some_tokens

from labkit.engine.decoder import Decoder
from labkit.engine.serving.batch import Batch
from labkit.engine.serving.decoder import PagedDecoder, captured_sizes
from labkit.engine.serving.pages import PAGE, Pages
from labkit.engine.weights import weights_of

N_POSITIONS = 96
NAMES = ("tiny-target", "meta-llama/Llama-3.1-8B")
CLOSE = {"rtol": 1e-4, "atol": 2e-4}
LENGTHS = {0: 21, 2: 1, 3: 40}  # of prompts, by slot
TOKENS = {slot: some_tokens(n + 8, seed=slot)[0] for slot, n in LENGTHS.items()}


def made(name, n_pages=24):
    """A decoder whose slots have pages that lie in no order."""
    decoder = PagedDecoder(weights_of(model(name), N_POSITIONS), n_pages, 4, N_POSITIONS)
    for n in range(1, 4):
        for slot in LENGTHS:
            decoder.pages.reserve(slot, n * PAGE)
    decoder.pages.reserve(3, 4 * PAGE)
    return decoder


def alone(name, slot, n_tokens):
    """The logits (n, V) of one request by the engine's own decoder."""
    decoder = Decoder(weights_of(model(name), N_POSITIONS), N_POSITIONS)
    return decoder.feed(TOKENS[slot][None, :n_tokens])[0]


def prompts(*slots):
    return {slot: TOKENS[slot][: LENGTHS[slot]] for slot in slots}


@pytest.mark.parametrize("name", NAMES)
def test_packed_prompts_are_as_one_by_one(name):
    logits = made(name).forward({}, prompts(*LENGTHS))
    wanted = [alone(name, slot, n)[-1] for slot, n in LENGTHS.items()]
    torch.testing.assert_close(logits, torch.stack(wanted), **CLOSE)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_of_several_requests_is_as_cached_decoding(name):
    decoder = made(name)
    decoder.forward({}, prompts(*LENGTHS))
    for i in range(8):
        logits = decoder.forward({slot: int(TOKENS[slot][n + i]) for slot, n in LENGTHS.items()})
        wanted = [alone(name, slot, n + i + 1)[-1] for slot, n in LENGTHS.items()]
        torch.testing.assert_close(logits, torch.stack(wanted), **CLOSE)
    assert decoder.pages.n_cached == [29, 0, 9, 48]
    assert decoder.pages.lengths.tolist() == [29, 0, 9, 48, 0]


@pytest.mark.parametrize("name", NAMES)
def test_several_tokens_of_each_request_are_as_one_after_the_other(name):
    decoder = made(name)
    decoder.forward({}, prompts(*LENGTHS))
    fed = {slot: TOKENS[slot][n : n + 4].tolist() for slot, n in LENGTHS.items()}
    logits = decoder.forward(fed)
    wanted = [alone(name, slot, n + 4)[-4:] for slot, n in LENGTHS.items()]
    torch.testing.assert_close(logits, torch.cat(wanted), **CLOSE)
    assert decoder.pages.n_cached == [25, 0, 5, 44]
    decoder.pages.rewind_all(LENGTHS)
    torch.testing.assert_close(decoder.forward(fed), logits)


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_over_both_is_as_two_passes(name):
    apart, mixed = made(name), made(name)
    for decoder in (apart, mixed):
        decoder.forward({}, prompts(0, 2))
    running = {slot: int(TOKENS[slot][LENGTHS[slot]]) for slot in (0, 2)}
    wanted = torch.cat([apart.forward(running), apart.forward({}, prompts(3))])
    torch.testing.assert_close(mixed.forward(running, prompts(3)), wanted, **CLOSE)
    for one, other in (
        (apart.pages.keys, mixed.pages.keys),
        (apart.pages.values, mixed.pages.values),
    ):
        torch.testing.assert_close(one, other, **CLOSE)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cuts", [(16, 24), (7, 1, 32), (39, 1)])
def test_a_prompt_in_chunks_is_as_a_prompt_at_once(name, cuts):
    decoder = made(name)
    decoder.forward({}, prompts(0))
    for chunk in TOKENS[3][:40].split(cuts):
        logits = decoder.forward({0: 5}, {3: chunk})
    torch.testing.assert_close(logits[1], alone(name, 3, 40)[-1], **CLOSE)


def test_layers_are_told_in_order_when_their_keys_and_values_are_written():
    decoder, seen = made("tiny-target"), []
    first = decoder.pages.rows(torch.tensor([3]), torch.tensor([0]))

    def on_layer(i):
        seen.append((i, bool(decoder.pages.keys[i, first].any())))

    decoder.forward({}, prompts(3), on_layer)
    assert seen == [(i, True) for i in range(decoder.shape.n_layers)]


def test_a_released_slot_gives_its_pages_to_another():
    decoder = made("tiny-target", n_pages=10)
    decoder.forward({}, prompts(*LENGTHS))
    assert decoder.pages.n_free == 0
    decoder.pages.release(3)
    assert decoder.pages.n_free == 4
    decoder.pages.reserve(1, 4 * PAGE)
    logits = decoder.forward({0: 5}, {1: TOKENS[3][:40]})
    torch.testing.assert_close(logits[1], alone("tiny-target", 3, 40)[-1], **CLOSE)


def test_what_has_no_room_is_refused_and_nothing_has_changed():
    decoder = made("tiny-target")
    decoder.forward({}, prompts(0))
    cases = {
        r"slot 1 has pages for 0 positions, wanted 1: reserve them": ({1: 5}, {}),
        r"slot 0 has pages for 48 positions, wanted 50": ({}, {0: [5] * 29}),
        r"there are slots 0 to 3, got 4": ({4: 5}, {}),
        r"slot 0 both runs and has a prompt": ({0: 5}, {0: [5]}),
        r"at least one token": ({}, {}),
        r"at least one in each chunk": ({0: 5}, {2: []}),
        r"up to 8 tokens of each running request, of all as many; got 9": ({0: [5] * 9}, {}),
        r"of all as many; got 1, 2": ({0: [5], 2: [5, 6]}, {}),
    }
    for message, (running, chunks) in cases.items():
        with pytest.raises(ValueError, match=message):
            decoder.forward(running, chunks)
    assert decoder.pages.n_cached == [21, 0, 0, 0]
    with pytest.raises(ValueError, match="at most 6 pages, 7 are wanted"):
        decoder.pages.reserve(0, N_POSITIONS + 1)
    with pytest.raises(ValueError, match="have angles for 96 positions, wanted 97"):
        PagedDecoder(decoder.weights, 4, 4, N_POSITIONS + 1)


def test_pages_are_refused_all_or_none():
    shape = weights_of(model("tiny-target"), N_POSITIONS).shape
    pages = Pages(shape, 3, 2, 96, dtype=torch.float32, device="cpu")
    pages.reserve(0, 17)
    with pytest.raises(ValueError, match="wanted 2 more pages, 1 are free"):
        pages.reserve(1, 17)
    assert (pages.n_free, pages.pages_of(0), pages.pages_of(1)) == (1, [1, 2], [])
    with pytest.raises(ValueError, match="at least 1 page, 1 slot and 1 position; got 0, 2 and 96"):
        Pages(shape, 0, 2, 96, dtype=torch.float32, device="cpu")


def test_a_captured_pass_is_the_smallest_that_holds_all():
    wanted = {
        (1, 0, 0): (1, 1, 0, 0),
        (3, 0, 0): (4, 1, 0, 0),
        (3, 0, 0, 5): (4, 5, 0, 0),
        (256, 16, 2048): (256, 1, 16, 2048),
        (0, 1, 513): (0, 1, 16, 640),
        (9, 2, 1025): (16, 1, 16, 1280),
        (257, 0, 0): None,
        (1, 17, 100): None,
        (0, 1, 2049): None,
    }
    assert {sizes: captured_sizes(*sizes) for sizes in wanted} == wanted


def test_a_batch_is_filled_up_with_tokens_of_nobody():
    batch = Batch.of({2: 7}, {0: [5, 6]}, [3, 0, 9, 0], 4, (2, 1, 3, 4)).to(torch.device("cpu"))
    assert batch.tokens.tolist() == [7, 0, 5, 6, 0, 0]
    assert batch.slots.tolist() == [2, 4, 0, 0, 4, 4]
    assert batch.positions.tolist() == [9, 0, 3, 4, 0, 0]
    assert batch.last.tolist() == [0, 1, 3, 0, 0]
    assert batch.running.slots.tolist() == [2, 4]
    assert batch.packed.slots.tolist() == [0, 4, 4]
    assert batch.packed.ends.tolist() == [0, 2, 2, 2]
    assert (batch.running.n_cached, batch.packed.n_cached) == (None, None)
