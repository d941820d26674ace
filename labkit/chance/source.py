"""Ordinary sampling code under a scripted source: every random number asks instead of being drawn.

    with scripted(source):
        tokens = speculative(target, draft, prompt, 4, 2)

Inside, torch's random functions, `torch.distributions`, `random` and `numpy.random` draw nothing.
Choices by weight are made by `source.choose`. Uniforms stay unknown: `torch.rand(k) < ratio` asks
`source.is_below` for each comparison that it makes. Which generator it draws from changes nothing.
What needs the value of a random number raises `CannotFollow`, and so do functions that cannot be
scripted, and seeds that are set inside.

This runs beside the student's code; the source may sit in another process. A constant below 1e-6
that is added to keep a logarithm finite counts as zero.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from labkit.chance.modules import STAND_IN_FLOAT, replaced_modules
from labkit.chance.numbers import MAX_OUTCOMES, POWER, CannotFollow, Cell, Number, Source, pick
from labkit.chance.operations import follow
from labkit.chance.seeds import seeded
from labkit.chance.tensors import (
    Uniforms,
    become,
    expect_whole,
    from_numbers,
    in_order,
    operation,
)

__all__ = ["CannotFollow", "Source", "run_scripted", "scripted"]


@contextlib.contextmanager
def scripted(source: Source, *namespaces: dict[str, Any]) -> Iterator[None]:
    """Let `source` decide all that is random in the code that runs inside.

    In `namespaces`, such as a notebook's globals, names bound to functions of `random` and
    `numpy.random` or to numpy generators follow too. Everything is as before afterwards.
    Raises: CannotFollow, inside, at what cannot be followed.
    """
    with replaced_modules(source, namespaces), _Scripted(source), in_words():
        yield


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Say which use of a random number inside cannot be followed, where only torch complains."""
    try:
        yield
    except TypeError as error:
        if STAND_IN_FLOAT in str(error):
            raise CannotFollow("dtype=float, which torch calls torch.float64") from error
        raise


def run_scripted(source: Any, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """What `function(*args, **kwargs)` returns while `source` has a say in it.

    source: a `Source` decides all that is random, in the names too that the function's module or
    notebook imported; with `seeds`, numbers, the function gets a generator as `rng`
    (`labkit.chance.seeds.seeded`). Raises: as `scripted`.
    """
    if hasattr(source, "choose"):
        with scripted(source, *names_of(function)):
            return function(*args, **kwargs)
    if hasattr(source, "seeds"):
        with seeded(*source.seeds) as rng:
            return function(*args, **kwargs, rng=rng)
    return function(*args, **kwargs)


def names_of(function: Callable) -> list[dict[str, Any]]:
    """The names of a function's module or notebook, if it has any."""
    names = getattr(function, "__globals__", None)
    return [names] if type(names) is dict else []


_RANDOM = frozenset([Uniforms, Number])


class _Scripted(TorchFunctionMode):
    """Sees every call of torch's Python interface, under any name."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source

    def __torch_function__(
        self, func: Callable, types: Sequence, args: tuple = (), kwargs: Mapping | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in DRAWS:
            kwargs = {name: value for name, value in kwargs.items() if name != "generator"}
            return DRAWS[func](self.source, *args, **kwargs)
        if types and not _RANDOM.isdisjoint(types):
            return follow(func, args, kwargs)
        if func in WATCHED:
            return _watched(func, args, kwargs)
        return func(*args, **kwargs)


def _watched(func: Callable, args: tuple, kwargs: dict) -> Any:
    """The objects that may draw, or hold a drawn value."""
    if func in MAKERS:
        return _made(func, args, kwargs)
    if func in REFUSED or _drops(func, args, kwargs):
        raise CannotFollow(operation(func))
    return func(*args, **kwargs)


def _fresh(source: Source, tensor: Tensor, **form: Any) -> Uniforms:
    """Turn a tensor into independent random numbers, one for each element."""
    if type(tensor) not in (Tensor, Uniforms):
        raise CannotFollow(f"random numbers in a {type(tensor).__name__}")
    numbers = [Number(Cell(source), **form) for _ in range(tensor.numel())]
    return become(tensor, numbers, in_order(tensor.shape))


def _rand(source: Source, *size: Any, **kwargs: Any) -> Uniforms:
    _no_out(kwargs, "rand")
    return _fresh(source, torch.empty(*size, **kwargs))


def _rand_like(source: Source, tensor: Tensor, **kwargs: Any) -> Uniforms:
    with torch._C.DisableTorchFunctionSubclass():  # the shape of random numbers will do
        return _fresh(source, torch.empty_like(tensor, **kwargs))


def _uniform_(source: Source, tensor: Tensor, *ends: float, **named: float) -> Uniforms:
    expect_whole(tensor, "uniform_")
    low, high = (*ends, *(0.0, 1.0)[len(ends) :])
    low, high = named.get("from", low), named.get("to", high)
    return _fresh(source, tensor, shift=float(low), scale=float(high - low))


def _exponential_(source: Source, tensor: Tensor, lambd: float = 1.0) -> Uniforms:
    expect_whole(tensor, "exponential_")
    return _fresh(source, tensor, form=POWER, scale=1 / float(lambd))


def _bernoulli(source: Source, probs: Tensor, p: Any = None, **kwargs: Any) -> Tensor:
    _no_out(kwargs, "bernoulli")
    given = probs if p is None else torch.as_tensor(p).expand(probs.shape)
    values = _plain(given).detach().double().flatten().tolist()
    if not all(0 <= value <= 1 for value in values):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    drawn = [pick(source, [1 - value, value]) for value in values]
    return torch.tensor(drawn, dtype=probs.dtype, device=probs.device).reshape(probs.shape)


def _bernoulli_(source: Source, tensor: Tensor, p: Any = 0.5) -> Tensor:
    return tensor.copy_(_bernoulli(source, tensor, p))


def _multinomial(
    source: Source, weights: Tensor, num_samples: int, replacement: bool = False, **kwargs: Any
) -> Tensor:
    _no_out(kwargs, "multinomial")
    if _plain(weights).ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    rows = weights.detach().double().reshape(-1, weights.shape[-1]).tolist()
    drawn = [_draw_row(source, row, num_samples, replacement) for row in rows]
    shape = (*weights.shape[:-1], num_samples)
    return torch.tensor(drawn, dtype=torch.long, device=weights.device).reshape(shape)


def _draw_row(source: Source, row: list[float], n_samples: int, replacement: bool) -> list[int]:
    if not all(0 <= weight < float("inf") for weight in row):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    drawn = []
    for _ in range(n_samples):
        if not sum(row) > 0:
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        drawn.append(pick(source, row))
        if not replacement:
            row = [0.0 if i == drawn[-1] else weight for i, weight in enumerate(row)]
    return drawn


def _randint(source: Source, *args: Any, **kwargs: Any) -> Tensor:
    _no_out(kwargs, "randint")
    *ends, size = (*args, kwargs.pop("size")) if "size" in kwargs else args
    ends += [kwargs.pop("high")] if "high" in kwargs else []
    low, high = (kwargs.pop("low", 0), *ends)[-2:]
    if high - low > MAX_OUTCOMES:
        raise CannotFollow(f"randint with {high - low} outcomes")
    result = torch.empty(size, **{"dtype": torch.long, **kwargs})
    drawn = [low + pick(source, [1.0] * (high - low)) for _ in range(result.numel())]
    return result.copy_(torch.tensor(drawn, dtype=result.dtype).reshape(result.shape))


def _randperm(source: Source, n: int, **kwargs: Any) -> Tensor:
    _no_out(kwargs, "randperm")
    return torch.tensor(_draw_row(source, [1.0] * n, n, False), **{"dtype": torch.long, **kwargs})


def _gumbel_softmax(
    source: Source,
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 0,
    dim: int = -1,
) -> Tensor:
    if not hard:
        raise CannotFollow("gumbel_softmax without hard=True")
    probs = torch.softmax(_plain(logits), dim).movedim(dim, -1)
    rows = _multinomial(source, probs.reshape(-1, probs.shape[-1]), 1)
    chosen = F.one_hot(rows[:, 0], probs.shape[-1]).reshape(probs.shape)
    return chosen.movedim(-1, dim).to(logits.dtype)


def _made(func: Callable, args: tuple, kwargs: dict) -> Any:
    """torch.tensor and its like, of random numbers from elsewhere."""
    data = args[0] if args else kwargs.get("data")
    if _holds_random(data):
        return from_numbers(data, kwargs.get("dtype"))
    return func(*args, **kwargs)


def _holds_random(data: Any) -> bool:
    if isinstance(data, list | tuple):
        return any(_holds_random(item) for item in data)
    if isinstance(data, np.ndarray) and data.dtype.kind == "O":
        return any(isinstance(item, Number) for item in data.flat)
    return isinstance(data, Number)


def _plain(tensor: Tensor) -> Tensor:
    if isinstance(tensor, Uniforms):
        raise CannotFollow("random numbers that decide about random numbers")
    return tensor


def _no_out(kwargs: dict, name: str) -> None:
    if kwargs.pop("out", None) is not None:
        raise CannotFollow(f"{name} with out=")


def _drops(func: Callable, args: tuple, kwargs: dict) -> bool:
    position = 2 if func in (F.dropout, torch.dropout) else len(args)
    return bool(kwargs.get("training", kwargs.get("train", (*args, *[True] * 3)[position])))


DRAWS: dict[Callable, Callable] = {
    torch.rand: _rand,
    torch.rand_like: _rand_like,
    Tensor.uniform_: _uniform_,
    Tensor.exponential_: _exponential_,
    torch.bernoulli: _bernoulli,
    Tensor.bernoulli: _bernoulli,
    Tensor.bernoulli_: _bernoulli_,
    torch.multinomial: _multinomial,
    Tensor.multinomial: _multinomial,
    torch.randint: _randint,
    torch.randperm: _randperm,
    F.gumbel_softmax: _gumbel_softmax,
}
MAKERS = frozenset([torch.tensor, torch.as_tensor, torch.asarray])
DROPOUTS = frozenset([torch.dropout, F.dropout, F.dropout1d, F.dropout2d, F.alpha_dropout])
REFUSED = frozenset(
    getattr(owner, name)
    for owner, names in {
        torch: "randn randn_like randint_like normal poisson binomial rrelu _standard_gamma",
        Tensor: "normal_ random_ cauchy_ log_normal_ geometric_",
    }.items()
    for name in names.split()
)
WATCHED = MAKERS | DROPOUTS | REFUSED
