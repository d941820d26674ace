"""One seed for all that draws."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from labkit.models import seeding

PROGRAM = """
import random, numpy as np, torch
from labkit.models.seeding import seed_from_environment
from labkit.models.sampling import sample
seed_from_environment()
print(random.random(), np.random.rand(3), torch.rand(3), torch.randint(9, (4,)))
print([sample(torch.tensor([0.2, 0.3, 0.5])) for _ in range(20)])
"""


def drawn():
    return random.random(), np.random.rand(4).tolist(), torch.rand(4).tolist()


@pytest.fixture(autouse=True)
def generators_as_they_were():
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])


def test_a_seed_repeats_every_generator_and_another_changes_each():
    first, again, other = (seeding.seed_everything(seed) and drawn() for seed in (3, 3, 4))
    assert first == again
    assert all(one != two for one, two in zip(first, other, strict=True))


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ValueError, match=f"got {seed}"):
        seeding.seed_everything(seed)


def test_without_the_variable_there_is_a_warning_and_no_seed(monkeypatch):
    monkeypatch.delenv(seeding.VARIABLE, raising=False)
    before = torch.get_rng_state()
    with pytest.warns(UserWarning, match="LABKIT_SEED is not set") as caught:
        assert seeding.seed_from_environment() is None
    assert caught[0].filename == __file__
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("text", ["seven", "-3", "1.5", " 4"])
def test_a_variable_that_is_no_number_is_refused(monkeypatch, text):
    monkeypatch.setenv(seeding.VARIABLE, text)
    with pytest.raises(ValueError, match=f"whole number in LABKIT_SEED, got '{text}'"):
        seeding.seed_from_environment()


def test_two_runs_of_a_program_draw_the_same():
    outputs = []
    for seed in ("12", "12", "13"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM], env=os.environ | {"LABKIT_SEED": seed},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].splitlines()[-1] != outputs[2].splitlines()[-1]
