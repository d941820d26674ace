"""Seeds: where code that draws may not set them, and how it is run with a generator of ours.

A sampler that makes or seeds a generator by itself draws the same numbers in each call. While a
source decides what is random, that raises `Seeded`; a seed without a number comes from the system
and is let pass. `seeded` runs code twice alike: one seed for the generator that it is handed,
another for all that it should not touch.
"""

import contextlib
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from labkit.chance.numbers import Seeded

_GENERATOR = torch.Generator


class WatchedGenerator(_GENERATOR):
    """A generator of torch's that was made before the code ran: to draw from, not to seed."""

    def manual_seed(self, seed: int) -> Any:
        raise Seeded("Generator.manual_seed")

    def set_state(self, state: Any) -> Any:
        raise Seeded("Generator.set_state")


def watched() -> WatchedGenerator:
    """A stand-in for any generator of torch's."""
    return WatchedGenerator()


class _GeneratorType(type):
    """Refuses to make a generator; existing generators are kept."""

    def __call__(cls, *args: Any) -> Any:
        if imports_a_module():
            return _GENERATOR(*args)
        raise Seeded("torch.Generator()")

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _GENERATOR)


class _Generator(metaclass=_GeneratorType):
    """Stands for `torch.Generator`."""


def imports_a_module() -> bool:
    """Whether this is called by a library that is being loaded: no sampler draws there."""
    frame = sys._getframe()
    while frame is not None and "importlib._bootstrap" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def refused_seeds(generator: Any) -> list[tuple[Any, str, Any]]:
    """What seeds and makes generators, with what refuses it; numpy's give `generator`, unseeded."""

    def numpys(name: str) -> Callable:
        return _without_number(f"numpy.random.{name}", lambda: generator)

    generators = watched()
    return [
        (torch, "Generator", _Generator),
        *((owner, "default_generator", generators) for owner in (torch, torch.random)),
        *(
            (owner, name, _without_number(f"torch.{name}", int))
            for owner in (torch, torch.random)
            for name in ("manual_seed", "seed", "set_rng_state")
        ),
        *((np.random, name, numpys(name)) for name in ("default_rng", "RandomState")),
        (np.random, "seed", _without_number("numpy.random.seed", lambda: None)),
        (np.random, "set_state", _without_number("numpy.random.set_state", lambda: None)),
        (random, "seed", _without_number("random.seed", lambda: None)),
        (random.Random, "seed", _without_number("random.seed", lambda: None, n_ignored=1)),
    ]


def _without_number(name: str, result: Callable[[], Any], n_ignored: int = 0) -> Callable:
    """A function that gives `result()` when it is called without a seed, and else raises."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args[n_ignored:], *kwargs.values()]
        if any(value is not None for value in given) and not imports_a_module():
            raise Seeded(name)
        return result()

    return call


@contextlib.contextmanager
def seeded(rng: int, others: int, n_drawn: int = 0) -> Iterator[torch.Generator]:
    """A generator with the seed `rng`; during the call, the global ones have the seed `others`.

    Afterwards they go on where they were. n_drawn: numbers drawn from the generator before.
    """
    kept = torch.get_rng_state(), np.random.get_state(), random.getstate()
    for seed in (torch.default_generator.manual_seed, np.random.seed, random.seed):
        seed(others)
    try:
        generator = torch.Generator("cpu").manual_seed(rng)
        torch.rand(n_drawn, generator=generator)
        yield generator
    finally:
        torch.set_rng_state(kept[0])
        np.random.set_state(kept[1])
        random.setstate(kept[2])
