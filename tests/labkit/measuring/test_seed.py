"""`labkit measure --seed` seeds all that draws: Python, NumPy and PyTorch."""

import random

import numpy as np
import pytest
import torch

from labkit import cli
from labkit.labs import measure
from labkit.measuring.machine.detected import seed_everything
from labkit.measuring.records import Row, read_record

GENERATORS = {
    "python": random.random,
    "numpy": lambda: float(np.random.rand()),
    "torch": lambda: float(torch.rand(1)),
}


@pytest.fixture(autouse=True)
def generators_as_they_were():
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """`measured(*arguments)`: what an experiment draws by the command, and the record's seed."""

    def draw(bench):
        drawn = {name: generator() for name, generator in GENERATORS.items()}
        bench.recorder.save(Row("draw", "none", 1, 0, 0, False, outcome="drawn", counts=drawn))

    def run(*arguments):
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        command = ["measure", "draw", "--profile", "cpu", "--out", str(out), *arguments]
        assert cli.main(command) == 0
        record = read_record(out)
        return record.rows[0].counts, record.provenance.seed

    monkeypatch.setattr(measure, "experiments", lambda: {"draw": draw})
    return run


def test_a_seed_repeats_every_generator_and_another_changes_each(measured):
    (first, seed), (again, _), (other, _) = (measured("--seed", each) for each in "334")
    assert (first, seed) == (again, 3)
    assert all(first[name] != other[name] for name in GENERATORS)


def test_without_a_seed_there_is_a_warning_and_the_seed_is_0(measured, capsys):
    drawn = measured()
    assert "no --seed is given: everything is seeded with 0" in capsys.readouterr().err
    assert drawn == measured("--seed", "0")
    assert "--seed" not in capsys.readouterr().err


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_generator_takes_is_refused(seed):
    with pytest.raises(ValueError, match=f"got {seed}"):
        seed_everything(seed)
