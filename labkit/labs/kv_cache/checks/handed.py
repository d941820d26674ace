"""What the checks of `forward_cached` hand out: a model, a store and a `rotate` of their own.

All of them record what the student passes. The computation goes on with what is right, so that one
mistake shows in one check.
"""

from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Offer, Student
from labkit.checks.compare import show
from labkit.checks.core import Wrong
from labkit.checks.tensors import wanted_tokens
from labkit.labs.kv_cache.checks.stored import random_tokens, wanted_floats
from labkit.models.transformer import Seen, Transformer, TransformerConfig, masked_attention, turned

HEAD_DIM, VOCAB_SIZE, WINDOW = 4, 11, 2
FREE = 30.0  # what lies in a place without a token: attention to it would show


@dataclass(frozen=True, slots=True)
class StepCase:
    """A sequence fed to a model in chunks, one `forward_cached` for each.

    n_before: tokens in the store before that. rewinds: how many tokens the store forgets after each
    chunk. is_plain: whether the store returns all tokens in order, and hides only later ones.
    """

    chunks: tuple[int, ...]
    n_layers: int = 2
    n_heads: int = 2
    n_kv_heads: int = 1
    batch: int = 1
    n_before: int = 0
    rewinds: tuple[int, ...] = ()
    is_plain: bool = True
    seed: int = 0

    def __str__(self) -> str:
        chunks = " + ".join(map(str, self.chunks))
        more = [f"batch of {self.batch}"]
        if self.n_before:
            more += [f"{self.n_before} tokens cached before"]
        if any(self.rewinds):
            more += [f"rewinds of {', '.join(map(str, self.rewinds))} after them"]
        if not self.is_plain:
            more += [f"a store with a window of {WINDOW} that returns the newest keys first"]
        return f"{chunks} tokens fed to {self.n_layers} layers, {', '.join(more)}"

    @property
    def rewound(self) -> tuple[int, ...]:
        return self.rewinds or (0,) * len(self.chunks)

    @property
    def chunks_of_tokens(self) -> tuple[Tensor, ...]:
        rng = torch.Generator().manual_seed(self.seed + 1)
        tokens = torch.randint(VOCAB_SIZE, (self.batch, sum(self.chunks)), generator=rng)
        return tokens.split(self.chunks, dim=1)

    @property
    def model(self) -> Transformer:
        sizes = (self.n_layers, self.n_heads, self.n_kv_heads, HEAD_DIM * self.n_heads)
        return _random_model(TransformerConfig(*sizes, VOCAB_SIZE, 32), self.seed)


@lru_cache(maxsize=32)
def _random_model(config: TransformerConfig, seed: int) -> Transformer:
    return Transformer.random(config, torch.Generator().manual_seed(seed))


class Store:
    """Keys and values of all layers. What comes back depends on whether the case is plain."""

    def __init__(self, case: StepCase) -> None:
        shape = (case.n_layers, 2, case.batch, case.n_kv_heads, case.n_before, HEAD_DIM)
        self.layers = [tuple(layer) for layer in random_tokens(case.seed + 2, *shape)]
        self.is_plain = case.is_plain

    @property
    def length(self) -> int:
        """Tokens before this pass, until its last layer has appended."""
        return self.layers[-1][0].shape[2]

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Seen:
        """The tokens that the layer holds now, and the mask."""
        joined = [
            torch.cat((old, new), dim=2)
            for old, new in zip(self.layers[layer], (keys, values), strict=True)
        ]
        self.layers[layer] = tuple(joined)
        positions = torch.arange(joined[0].shape[2])
        distance = positions[-keys.shape[2] :, None] - positions
        if self.is_plain:
            return *joined, distance >= 0
        parts = (torch.cat((each, each[:, :, :1] * 0 + FREE), dim=2).flip(2) for each in joined)
        mask = (distance >= 0) & (distance < WINDOW)
        return *parts, torch.cat((mask, mask[:, :1] & False), dim=1).flip(1)

    def rewind(self, n_tokens: int) -> None:
        """Forget the last tokens of all layers."""
        end = self.length - n_tokens
        self.layers = [tuple(each[:, :, :end] for each in pair) for pair in self.layers]


@dataclass
class Layer:
    """What one layer has in one step: what it projects, what it gets back, what is right.

    appended, merged: what the student passed to `append` and to `merge`.
    """

    positions: Tensor
    queries: Tensor
    keys: Tensor
    values: Tensor
    appended: Any = None
    seen: Seen | None = None
    merged: Any = None

    @property
    def turned_queries(self) -> Tensor:
        return turned(self.queries, self.positions)

    @property
    def turned_keys(self) -> Tensor:
        return turned(self.keys, self.positions)

    @property
    def attended(self) -> Tensor:
        """What the block should merge."""
        return masked_attention(self.turned_queries, *self.seen)


@dataclass
class Turn:
    """One `forward_cached` of `n_new` tokens, the first at position `start`.

    appended: the layers that `append` was called with. rotations: for each call of `rotate`, how
    many layers had appended, and the positions.
    """

    start: int
    n_new: int
    layers: list[Layer] = field(default_factory=list)
    appended: list[Any] = field(default_factory=list)
    rotations: list[tuple[int, Any]] = field(default_factory=list)
    logits: Any = None
    right_logits: Tensor | None = None


class Recorder:
    """The parts that a step uses, on the check's side."""

    def __init__(self, case: StepCase) -> None:
        self.case, self.model = case, case.model
        self.store, self.right_store = Store(case), Store(case)

    def play(self, student: Student, chunk: Tensor, n_rewound: int) -> Turn:
        """One step of the student's; then both stores forget tokens."""
        self.chunk, self.projected = chunk, {}
        self.turn = Turn(self.store.length, chunk.shape[1])
        self.turn.right_logits = self._right_logits()
        offers = (self._model_offer(), chunk, self._store_offer(), self.rotate)
        self.turn.logits = student.forward_cached(*offers)
        for n, name in ((len(self.turn.layers), "append"), (self._n_merged(), "merge")):
            if n != self.case.n_layers:
                what = f"the calls of `{name}`, one per layer"
                raise Wrong(what, expected=str(self.case.n_layers), got=str(n))
        for store in (self.store, self.right_store):
            store.rewind(n_rewound)
        return self.turn

    def _n_merged(self) -> int:
        return sum(layer.merged is not None for layer in self.turn.layers)

    @property
    def _positions(self) -> Tensor:
        return torch.arange(self.turn.start, self.turn.start + self.turn.n_new)

    def _right_logits(self) -> Tensor:
        x, positions = self.model.embed(self.chunk), self._positions
        for i, block in enumerate(self.model.blocks):
            layer = Layer(positions, *block.project(x))
            layer.seen = self.right_store.append(i, layer.turned_keys, layer.values)
            x = block.merge(x, layer.attended)
        return self.model.unembed(x)

    def _model_offer(self) -> Offer:
        blocks = [
            Offer(
                attributes={"project": partial(self.project, i), "merge": partial(self.merge, i)},
                name="block",
            )
            for i in range(self.case.n_layers)
        ]
        sizes = {**asdict(self.model.config), "head_dim": HEAD_DIM}
        parts = {"config": Offer(attributes=sizes, name="config"), "blocks": blocks}
        calls = {"embed": self.embed, "unembed": self.unembed}
        return Offer(attributes={**parts, **calls}, name="model")

    def _store_offer(self) -> Offer:
        read = {"length": lambda: self.store.length}
        return Offer(attributes={"append": self.append}, read=read, name="cache")

    def embed(self, tokens: Any) -> Tensor:
        wanted_tokens(tokens, self.chunk.shape, VOCAB_SIZE)
        return self.model.embed(tokens.long())

    def project(self, i: int, x: Any) -> tuple[Tensor, Tensor, Tensor]:
        self.projected[i] = self.model.blocks[i].project(self._hidden(x))
        return self.projected[i]

    def rotate(self, x: Any, positions: Any, base: Any = 10_000.0) -> Tensor:
        """x of the new tokens, turned by their true positions; others by those that are given."""
        if not isinstance(positions, Tensor) or positions.ndim != 1 or positions.is_complex():
            raise ValueError(f"positions should be a tensor of shape (Q,), got {show(positions)}")
        n_tokens, n_heads = len(positions), x.shape[1] if getattr(x, "ndim", 0) == 4 else "H"
        x = wanted_floats(x, (self.case.batch, n_heads, n_tokens, HEAD_DIM), "x")
        self.turn.rotations.append((len(self.turn.layers), positions.tolist()))
        return turned(x, self._positions if n_tokens == self.turn.n_new else positions)

    def append(self, layer: Any, keys: Any, values: Any) -> Seen:
        """What the store returns to the layer whose turn it is, for its right keys and values."""
        i = len(self.turn.layers)
        if i >= self.case.n_layers:
            raise ValueError(f"append is called once per layer, {self.case.n_layers} times a step")
        if i not in self.projected:
            raise ValueError(f"block {i} appends before it has projected")
        shape = (self.case.batch, self.case.n_kv_heads, self.turn.n_new, HEAD_DIM)
        passed = wanted_floats(keys, shape, "keys"), wanted_floats(values, shape, "values")
        mine = Layer(self._positions, *self.projected[i], appended=passed)
        self.turn.appended.append(layer)
        mine.seen = self.store.append(i, mine.turned_keys, mine.values)
        self.turn.layers.append(mine)
        return mine.seen

    def merge(self, i: int, x: Any, attended: Any) -> Tensor:
        if i >= len(self.turn.layers):
            raise ValueError(f"block {i} merges before it has appended")
        mine = self.turn.layers[i]
        mine.merged = wanted_floats(attended, mine.queries.shape, "`attended`")
        return self.model.blocks[i].merge(self._hidden(x), mine.attended)

    def unembed(self, x: Any) -> Tensor:
        """Logits of as many tokens as come: whether these are all of them, the logits show."""
        n_tokens = x.shape[1] if isinstance(x, Tensor) and x.ndim == 3 else self.turn.n_new
        width = self.model.config.d_model
        return self.model.unembed(wanted_floats(x, (self.case.batch, n_tokens, width), "x"))

    def _hidden(self, x: Any) -> Tensor:
        width = self.model.config.d_model
        return wanted_floats(x, (self.case.batch, self.turn.n_new, width), "x")
