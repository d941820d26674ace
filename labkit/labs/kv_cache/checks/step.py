"""Checks of `forward_cached`.

It is about the past: new tokens alone, at their own positions, each layer with its own past.

The model's parts and the `attend` that a step uses are the check's own, handed to the student's
code: a step is judged apart from the attention, and what is recorded cannot be forged.
"""

from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Offer, Student
from labkit.checks.compare import expect_equal, joined, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import pair_in
from labkit.checks.tensors import expect_tensor, slip_in_tensors, tensor_in, wanted_tokens
from labkit.labs.kv_cache.checks.attend import attention_by_hand
from labkit.labs.kv_cache.checks.stored import expect_pair, is_pair, wanted_floats
from labkit.models.transformer import Transformer, TransformerConfig

D_MODEL, VOCAB_SIZE = 8, 11

_forward = partial(check, "forward_cached", gate=True)


@dataclass(frozen=True, slots=True)
class StepCase:
    """A sequence fed to a model in chunks, one `forward_cached` for each."""

    chunks: tuple[int, ...]
    n_layers: int = 2
    n_heads: int = 2
    n_kv_heads: int = 1
    batch: int = 1
    seed: int = 0

    def __str__(self) -> str:
        chunks = " + ".join(map(str, self.chunks))
        return f"{chunks} tokens fed to {self.n_layers} layers, batch of {self.batch}"

    def model(self) -> Transformer:
        sizes = (self.n_layers, self.n_heads, self.n_kv_heads)
        return _random_model(TransformerConfig(*sizes, D_MODEL, VOCAB_SIZE, 32), self.seed)

    def tokens(self) -> Tensor:
        rng = torch.Generator().manual_seed(self.seed + 1)
        return torch.randint(VOCAB_SIZE, (self.batch, sum(self.chunks)), generator=rng)


@cache
def _random_model(config: TransformerConfig, seed: int) -> Transformer:
    return Transformer.random(config, torch.Generator().manual_seed(seed))


@dataclass(frozen=True)
class Step:
    """One `forward_cached`: the tokens before it, the pasts that the student passed, the result."""

    n_past: int
    n_new: int
    past: list | None
    positions: list
    pasts: list
    caches: list[tuple[Tensor, Tensor]]
    logits: Any
    cache: Any


def steps_of(student: Student, case: StepCase) -> list[Step]:
    """The student's steps over the chunks of a case, played once for all checks."""

    def play() -> list[Step]:
        recorder = RecordedSteps(case)
        return [recorder.play(student, chunk) for chunk in case.tokens().split(case.chunks, 1)]

    return student.once(("forward_cached", case), play)


class RecordedSteps:
    """A model whose parts run on the check's side, and an `attend` that reads no student memory.

    Positions and pasts that the student passes are recorded; the computation goes on with the
    right ones, so that one mistake shows in one check.
    """

    def __init__(self, case: StepCase) -> None:
        self.case, self.model, self.n_past = case, case.model(), 0
        self.caches: list[tuple[Tensor, Tensor]] = []  # as `attend` returns them
        self.attended: list[tuple[Tensor, Tensor]] = []  # what the layers attend to
        self._start()

    def _start(self) -> None:
        self.past = list(self.caches) or None
        self.before = list(self.attended)
        self.positions: list[Any] = []
        self.pasts: list[Any] = []

    def play(self, student: Student, chunk: Tensor) -> Step:
        """One step of the student's."""
        self._start()
        self.chunk, n_past = chunk, self.n_past
        got = student.forward_cached(self._offer(), chunk, self.past, self.attend)
        self.n_past += chunk.shape[1]
        if len(self.pasts) != self.case.n_layers:
            what = "the calls of `attend`, one per layer"
            why = "" if self.pasts else "All attention goes through the `attend` that is passed in."
            raise Wrong(what, expected=str(self.case.n_layers), got=str(len(self.pasts)), why=why)
        logits, cache = pair_in(got, "what forward_cached returns")
        caches = list(self.caches)
        passed_on = (self.positions, self.pasts)
        return Step(n_past, chunk.shape[1], self.past, *passed_on, caches, logits, cache)

    def _offer(self) -> Offer:
        blocks = [
            Offer(attributes={"project": self._project(i), "merge": self._merge(i)}, name="block")
            for i in range(self.case.n_layers)
        ]
        sizes = {**asdict(self.model.config), "head_dim": self.model.config.head_dim}
        parts = {"config": Offer(attributes=sizes, name="config"), "blocks": blocks}
        calls = {"embed": self.embed, "unembed": self.unembed}
        return Offer(attributes={**parts, **calls}, name="model")

    def embed(self, tokens: Any, positions: Any) -> Tensor:
        wanted_tokens(tokens, self.chunk.shape, VOCAB_SIZE)
        self.positions.append(positions)
        right = torch.arange(self.n_past, self.n_past + self.chunk.shape[1])
        return self.model.embed(tokens.long(), right)

    def _project(self, layer: int) -> Any:
        return lambda x: self.model.blocks[layer].project(self._hidden(x))

    def _merge(self, layer: int) -> Any:
        shape = self._shape(self.case.n_heads)
        return lambda x, attended: self.model.blocks[layer].merge(
            self._hidden(x), wanted_floats(attended, shape, "`attended`")
        )

    def unembed(self, x: Any) -> Tensor:
        """Logits of as many tokens as come: whether these are all of them, the logits show."""
        n_tokens = x.shape[1] if isinstance(x, Tensor) and x.ndim == 3 else self.chunk.shape[1]
        return self.model.unembed(wanted_floats(x, (self.case.batch, n_tokens, D_MODEL), "x"))

    def attend(self, queries: Any, keys: Any, values: Any, past: Any = None) -> tuple:
        """Attention with the layer's true past; the order of calls identifies the layer."""
        layer = len(self.pasts)
        if layer >= self.case.n_layers:
            raise ValueError(f"attend is called once per layer, {self.case.n_layers} times a step")
        self.pasts.append(past)
        shape = self._shape(self.case.n_kv_heads)
        keys, values = wanted_floats(keys, shape, "keys"), wanted_floats(values, shape, "values")
        queries = wanted_floats(queries, self._shape(self.case.n_heads), "queries")
        if self.before:
            keys = torch.cat((self.before[layer][0], keys), 2)
            values = torch.cat((self.before[layer][1], values), 2)
        returned = (keys + 1, values - 1)  # so that a cache of the student's own making shows
        self.attended[layer : layer + 1] = [(keys, values)]
        self.caches[layer : layer + 1] = [returned]
        return attention_by_hand(queries, keys, values), returned

    def _hidden(self, x: Any) -> Tensor:
        return wanted_floats(x, (self.case.batch, self.chunk.shape[1], D_MODEL), "x")

    def _shape(self, n_heads: int) -> tuple[int, ...]:
        return (self.case.batch, n_heads, self.chunk.shape[1], D_MODEL // self.case.n_heads)


@_forward(hint="Begin the positions at the number of cached tokens.")
def positions_start_after_the_cached_tokens(student: Student, case: StepCase) -> None:
    """The new tokens are embedded at the positions that follow the cached ones."""
    steps, rows = steps_of(student, case), []
    for step in steps:
        expect_equal(len(step.positions), 1, "the calls of `embed` in one step")
        rows.append(_position_rows(step.positions[0], step.n_new))
    why = joined(
        sentence
        for sentence, start in POSITION_SLIPS.items()
        if all(
            row == list(range(start(step, case), start(step, case) + step.n_new))
            for step, of_step in zip(steps, rows, strict=True)
            for row in of_step
        )
    )
    for step, of_step in zip(steps, rows, strict=True):
        expected = list(range(step.n_past, step.n_past + step.n_new))
        what = f"the positions of {step.n_new} tokens after {step.n_past} cached ones"
        for row in of_step:
            expect_equal(row, expected, what, why=why)


POSITION_SLIPS = {
    "The positions start at 0 again. Those are the prompt's positions.": (lambda step, case: 0),
    "The positions are one too high. They start at the number of cached tokens.": (
        lambda step, case: step.n_past + 1 if step.n_past else 0
    ),
    "They start at the number of layers. `past[0][0].shape[2]` is the number of tokens.": (
        lambda step, case: case.n_layers if step.n_past else 0
    ),
    "They start at the number of KV heads. `past[0][0].shape[2]` is the number of tokens.": (
        lambda step, case: case.n_kv_heads if step.n_past else 0
    ),
}


def _position_rows(got: Any, n_new: int) -> list[list]:
    """Positions (Q,), or (1 Q) or (B Q), which embed just as well, as rows."""
    positions = tensor_in(got, "the positions")
    if positions.is_floating_point() or positions.ndim > 2 or positions.shape[-1:] != (n_new,):
        raise Wrong(
            "the positions",
            expected=f"{n_new} whole numbers",
            got=f"{positions.dtype}, shape {tuple(positions.shape)}",
        )
    return positions.reshape(-1, n_new).tolist()


@_forward(hint="Give layer i the entry `past[i]`, or None in the first step.")
def each_layer_gets_its_own_past(student: Student, case: StepCase) -> None:
    """In each step layer i attends with `past[i]`; in the first step with None."""
    for step in steps_of(student, case):
        why = _past_slip(step)
        for layer, got in enumerate(step.pasts):
            what = f"of the past that layer {layer} gets, {step.n_past} tokens fed so far"
            if step.past is not None:
                expect_pair(got, *step.past[layer], what, why=why)
            elif got is not None:
                raise Wrong("the past in the first step", expected="None", got=show(got))


def _past_slip(step: Step) -> str:
    """The sentence if all layers of a step got the past of a known mistake."""
    if step.past is None:
        return ""
    if all(past is None for past in step.pasts):
        return "No past is handed to `attend`."
    slips = {
        "Every layer gets the past of layer 0.": [step.past[0]] * len(step.past),
        "The layers get the past in reverse order.": step.past[::-1],
    }
    return joined(
        sentence for sentence, given in slips.items() if all(map(is_pair, step.pasts, given))
    )


@_forward(hint="Append the second value of `attend`, once per layer.")
def the_cache_has_one_entry_per_layer(student: Student, case: StepCase) -> None:
    """The cache that comes back lists what `attend` returned for layer 0, 1, ..."""
    for step in steps_of(student, case):
        if not isinstance(step.cache, list | tuple):
            expected = "a list with one pair per layer"
            raise Wrong("the cache", expected=expected, got=show(step.cache))
        is_more = len(step.cache) > case.n_layers
        why = f"It has {'more' if is_more else 'fewer'} entries than there are layers."
        expect_equal(len(step.cache), case.n_layers, "the number of layers in the cache", why=why)
        for layer, got in enumerate(step.cache):
            expect_pair(got, *step.caches[layer], f"that were returned for layer {layer}")


@_forward(
    hint="Call embed first. In each block, call project, attend and merge. Call unembed last.",
)
def logits_are_those_of_the_uncached_model(student: Student, case: StepCase) -> None:
    """Fed in chunks, the model gives the logits of one forward over the whole sequence."""
    expected = case.model()(case.tokens())
    for step in steps_of(student, case):
        end = step.n_past + step.n_new
        what = f"the logits of tokens {step.n_past}..{end - 1}"
        right = expected[:, step.n_past : end]
        why = slip_in_tensors(step.logits, LOGIT_SLIPS, right)
        expect_tensor(step.logits, right, what, why=why, tolerance=1e-4)


LOGIT_SLIPS = {
    "Only the last token has logits. Return those of all Q tokens.": lambda right: right[:, -1:],
    "Only the last token has logits, and the axis Q is missing.": lambda right: right[:, -1],
}


OPEN_CASES = {
    "forward_cached": [
        StepCase(chunks=(4,)),
        StepCase(chunks=(3, 1, 1), n_layers=3, seed=1),
        StepCase(chunks=(2, 3), batch=2, seed=2),
    ],
}
