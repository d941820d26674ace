"""Lab 1's slips: on the probes none agrees with another, nor with the right function."""

from itertools import combinations

import pytest

from labkit import memory
from labkit.labs.memory.checks import replay
from labkit.models.shapes import ModelShape


def token_bytes(shape, width=2):
    return memory.kv_bytes_per_token(ModelShape(**shape), width)


D_MODEL, SINGLE, DOUBLE = replay.token_slips()


@pytest.mark.parametrize(
    ("right", "probes", "slips"),
    [
        (memory.weight_bytes, replay.WEIGHT_PROBES, replay.WEIGHT_SLIPS),
        (memory.training_bytes, replay.RECIPE_PROBES, replay.RECIPE_SLIPS),
        (token_bytes, replay.TOKEN_PROBES, SINGLE | D_MODEL),
        (memory.largest_model, replay.LARGEST_PROBES, replay.LARGEST_SLIPS),
        (memory.longest_sequence, replay.LONGEST_PROBES, replay.LONGEST_SLIPS),
    ],
)
def test_no_two_slips_agree_on_all_probes(right, probes, slips):
    given = {name: tuple(slip(*probe) for probe in probes) for name, slip in slips.items()}
    given["right"] = tuple(right(*probe) for probe in probes)
    same = [pair for pair in combinations(given, 2) if given[pair[0]] == given[pair[1]]]
    assert same == []


def test_no_two_slips_together_give_what_is_right():
    right = [token_bytes(*probe) for probe in replay.TOKEN_PROBES]
    for name, slip in DOUBLE.items():
        assert [slip(*probe) for probe in replay.TOKEN_PROBES] != right, name
