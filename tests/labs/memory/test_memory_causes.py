"""Lab 1's slips: on the probes none agrees with another, nor with the right function."""

from itertools import combinations

import pytest

from labkit import memory
from labkit.labs.memory.checks import replay
from labkit.models.shapes import ModelShape


def token_bytes(shape, width=2):
    return memory.kv_bytes_per_token(ModelShape(**shape), width)


def single_token_slips(shape, width=2):
    return replay.token_slips(1)(shape, width) | replay.d_model_slip(shape, width)


@pytest.mark.parametrize(
    ("right", "probes", "slips"),
    [
        (memory.weight_bytes, replay.WEIGHT_PROBES, replay.weight_slips),
        (memory.training_bytes, replay.RECIPE_PROBES, replay.recipe_slips),
        (token_bytes, replay.TOKEN_PROBES, single_token_slips),
        (memory.largest_model, replay.LARGEST_PROBES, replay.largest_slips),
        (memory.longest_sequence, replay.LONGEST_PROBES, replay.longest_slips),
    ],
)
def test_no_two_slips_agree_on_all_probes(right, probes, slips):
    wrong = [slips(*probe) for probe in probes]
    given = {name: tuple(each[name] for each in wrong) for name in wrong[0]}
    given["right"] = tuple(right(*probe) for probe in probes)
    same = [pair for pair in combinations(given, 2) if given[pair[0]] == given[pair[1]]]
    assert same == []


def test_no_two_slips_together_give_what_is_right():
    right = [token_bytes(*probe) for probe in replay.TOKEN_PROBES]
    wrong = [replay.token_slips(2)(*probe) for probe in replay.TOKEN_PROBES]
    for name in wrong[0]:
        assert [each[name] for each in wrong] != right, name
