"""Python's `random`, `numpy.random` and `float` while a scripted source decides what is random.

`labkit.chance.source.scripted` puts these in place and takes them away again.
"""

import builtins
import contextlib
import functools
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from labkit.chance.numbers import LOG, MAX_OUTCOMES, POWER, CannotFollow, Cell, Number, Source, pick
from labkit.chance.seeds import imports_a_module, refused_seeds, watched
from labkit.chance.tensors import Uniforms, from_numbers

MISSING = object()
SCRIPTED_NUMPY = """rand random random_sample ranf sample uniform exponential standard_exponential
    gumbel choice randint multinomial binomial""".split()
REFUSED_RANDOM = "gauss normalvariate randbytes".split()
REFUSED_NUMPY = """beta chisquare dirichlet gamma geometric laplace logistic lognormal normal
    permutation poisson randn shuffle standard_gamma standard_normal bytes""".split()


class ScriptedGenerator:
    """Stands for numpy's generators, and for the functions of `numpy.random` itself."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CannotFollow(f"numpy.random's {name}")

    def _numbers(self, size: Any, **form: Any) -> Any:
        if size is None:
            return Number(Cell(self._source), **form)
        array = np.empty(size, dtype=object)
        for i in np.ndindex(array.shape):
            array[i] = Number(Cell(self._source), **form)
        return array

    def random(self, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if out is not None:
            raise CannotFollow("random with out=")
        return self._numbers(size)

    def rand(self, *size: int) -> Any:
        return self._numbers(size or None)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        return self._numbers(size, shift=float(low), scale=float(high - low))

    def exponential(self, scale: float = 1.0, size: Any = None) -> Any:
        return self._numbers(size, form=POWER, scale=float(scale))

    def standard_exponential(self, size: Any = None) -> Any:
        return self._numbers(size, form=POWER)

    def gumbel(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        return self._numbers(size, form=LOG, shift=float(loc), scale=-float(scale))

    def integers(self, low: int, high: int | None = None, size: Any = None, **kwargs: Any) -> Any:
        first, end = (0, low) if high is None else (low, high)
        n = int(end) - int(first) + bool(kwargs.get("endpoint"))
        if n > MAX_OUTCOMES:
            raise CannotFollow(f"a random integer with {n} outcomes")
        return self._picked([1.0] * n, size, lambda i: int(first) + i)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        items = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        weights = np.full(len(items), 1.0) if p is None else np.asarray(p)
        if p is not None:
            _expect_probabilities(weights, len(items))
        if size not in (None, 1, (1,), ()) and not replace:
            raise CannotFollow("choice of several without replacement")
        return self._picked([float(weight) for weight in weights], size, lambda i: items[i])

    def multinomial(self, n: int, pvals: Any, size: Any = None) -> Any:
        if n != 1 or size is not None:
            raise CannotFollow("multinomial of more than one")
        weights = [float(weight) for weight in pvals][:-1]
        if sum(weights) > 1 + 1e-12:
            raise ValueError("sum(pvals[:-1]) > 1.0")
        chosen = pick(self._source, [*weights, max(1 - sum(weights), 0.0)])  # as numpy has it
        return np.eye(len(pvals), dtype=int)[chosen]

    def binomial(self, n: int, p: float, size: Any = None) -> Any:
        if n != 1:
            raise CannotFollow("binomial of more than one")
        return self._picked([1 - float(p), float(p)], size, int)

    def _picked(self, weights: list[float], size: Any, item: Callable[[int], Any]) -> Any:
        if size is None:
            return item(pick(self._source, weights))
        shape = size if isinstance(size, tuple) else (size,)
        drawn = [item(pick(self._source, weights)) for _ in range(math.prod(shape))]
        return np.array(drawn).reshape(shape)

    random_sample = ranf = sample = random
    randint = integers


def _expect_probabilities(weights: np.ndarray, n_items: int) -> None:
    """The errors that numpy itself raises."""
    if weights.shape != (n_items,):
        raise ValueError("'a' and 'p' must have same size")
    if not (weights >= 0).all():
        raise ValueError("probabilities are not non-negative")
    kind = weights.dtype if weights.dtype.kind == "f" else np.dtype(float)
    if abs(weights.sum() - 1) > max(np.sqrt(np.finfo(kind).eps), 1.5e-8):
        raise ValueError("probabilities do not sum to 1")


class _FloatType(type):
    """Makes `float(x)` keep a random number as it is; everything else is as with float."""

    def __call__(cls, *args: Any) -> Any:
        if args and isinstance(args[0], Number | Uniforms):
            return args[0] if isinstance(args[0], Number) else args[0].item()
        return _FLOAT(*args)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _FLOAT | Number)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, _FLOAT)

    def __eq__(cls, other: Any) -> bool:
        return other is cls or other is _FLOAT

    def __hash__(cls) -> int:
        return hash(_FLOAT)


_FLOAT = float


STAND_IN_FLOAT = _FloatType.__name__  # in the words of torch, when it meets dtype=float


class _Float(float, metaclass=_FloatType):
    dtype = np.dtype("float64")  # so numpy takes it for float


def _math(name: str) -> Callable:
    plain = getattr(math, name)

    def function(x: Any, *rest: Any) -> Any:
        if isinstance(x, Uniforms):
            x = x.item()
        if not isinstance(x, Number):
            return plain(x, *rest)
        result = getattr(x, name)()
        return result / math.log(*rest) if rest else result

    return function


def _from_numpy(plain: Callable) -> Callable:
    def from_numpy(array: np.ndarray) -> torch.Tensor:
        is_random = array.dtype.kind == "O"
        return from_numbers(array, torch.float64) if is_random else plain(array)

    return from_numpy


def _refusal(name: str) -> Callable:
    def refuse(*_: Any, **__: Any) -> Any:
        raise CannotFollow(name)

    return refuse


def _replacements(source: Source) -> list[tuple[Any, str, Any]]:
    """The replacements: owner, name, and the stand-in."""
    generator = ScriptedGenerator(source)
    plain_below = random.Random._randbelow

    def number(*_: Any) -> Number:
        return Number(Cell(source))

    def below(rng: random.Random, n: int) -> int:
        if n <= MAX_OUTCOMES:
            return pick(source, [1.0] * n)
        if imports_a_module():
            return plain_below(rng, n)
        raise CannotFollow(f"a random integer with {n} outcomes")

    return [
        *((np.random, name, getattr(generator, name)) for name in SCRIPTED_NUMPY),
        *refused_seeds(generator),
        *((np.random, name, _refusal(f"numpy.random.{name}")) for name in REFUSED_NUMPY),
        *((random.Random, name, _refusal(f"random.{name}")) for name in REFUSED_RANDOM),
        *((random, name, _refusal(f"random.{name}")) for name in REFUSED_RANDOM),
        *((math, name, _math(name)) for name in ("log", "exp", "sqrt", "log1p")),
        (random.Random, "random", number),
        (random.Random, "_randbelow", below),
        (random, "random", number),
        (torch, "from_numpy", _from_numpy(torch.from_numpy)),
        (builtins, "float", _Float),
    ]


@contextlib.contextmanager
def replaced_modules(source: Source, namespaces: Sequence[dict[str, Any]]) -> Iterator[None]:
    """Put the stand-ins in place, in the modules and under the names that lead to them."""
    replacements = _replacements(source)
    by_identity = {id(getattr(owner, name)): new for owner, name, new in replacements}
    generator = ScriptedGenerator(source)
    undo: list[Callable[[], None]] = []
    try:
        for namespace in namespaces:
            for name, value in list(namespace.items()):
                new = by_identity.get(id(value), MISSING)
                match _library_of(type(value)):
                    case "numpy":
                        new = generator
                    case "torch":
                        new = watched()
                if new is not MISSING:
                    undo.append(lambda names=namespace, n=name, v=value: names.__setitem__(n, v))
                    namespace[name] = new
        for owner, name, new in replacements:
            undo.append(_restorer(owner, name))
            setattr(owner, name, new)
        yield
    finally:
        for restore in reversed(undo):
            restore()


@functools.lru_cache(1000)
def _library_of(kind: type) -> str:
    """Whose generators are of this type; "" for other things, which most names are."""
    if issubclass(kind, np.random.Generator | np.random.mtrand.RandomState):
        return "numpy"
    return "torch" if issubclass(kind, torch.Generator) else ""


def _restorer(owner: Any, name: str) -> Callable[[], None]:
    old = vars(owner).get(name, MISSING)
    if old is MISSING:  # inherited
        return lambda: delattr(owner, name)
    return lambda: setattr(owner, name, old)
