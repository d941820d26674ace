"""Offloaded layers: the same numbers, the bytes brought over, and everything back after."""

import pytest
import torch

from labkit import zoo
from labkit.labs.cache_benchmark.offload import copy_bandwidth, offloaded


@pytest.fixture
def model():
    return zoo.load("tiny-target", profile="cpu", weights="random").model


def logits(model):
    with torch.inference_mode():
        return model(torch.arange(9)[None]).logits


@pytest.mark.parametrize("layers", [[], [0], [11], [3, 1, 7], list(range(12))])
def test_logits_are_the_same_and_bytes_are_those_of_the_layers(model, layers):
    before = logits(model)
    each = sum(parameter.nbytes for parameter in model.model.layers[0].parameters())
    with offloaded(model, layers) as n_bytes:
        assert n_bytes == len(layers) * each
        assert torch.equal(logits(model), before)
        assert torch.equal(logits(model), before)
    assert torch.equal(logits(model), before)


def test_offloaded_layers_share_one_buffer_and_get_their_own_memory_back(model):
    layers = model.model.layers
    with offloaded(model, [2, 5]):
        starts = [next(layers[i].parameters()).data_ptr() for i in (2, 5)]
        assert starts[0] == starts[1]
    places = {parameter.data_ptr() for layer in layers for parameter in layer.parameters()}
    assert len(places) == sum(1 for layer in layers for _ in layer.parameters())
    assert not layers[2]._forward_pre_hooks


def test_an_error_inside_leaves_the_model_as_it_was(model):
    before = logits(model)
    with pytest.raises(RuntimeError, match="stop"), offloaded(model, [0, 1]):
        raise RuntimeError("stop")
    assert torch.equal(logits(model), before)


@pytest.mark.parametrize("layers", [[12], [-1], [1, 1]])
def test_layers_that_are_not_there_are_refused(model, layers):
    with pytest.raises(ValueError, match="different layers of 0 to 11"), offloaded(model, layers):
        pass


def test_copying_while_computing_needs_a_gpu(model):
    with pytest.raises(ValueError, match="needs a GPU"), offloaded(model, [0], overlap=True):
        pass


def test_copies_arrive_at_a_rate():
    assert copy_bandwidth(1 << 16, "cpu", n_repeats=2) > 0
