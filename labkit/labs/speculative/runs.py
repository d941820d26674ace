"""Texts that a pair writes by speculation, and by the target alone, with their times and blocks.

The functions that sample are arguments: in the notebook they are the student's own. They run on the
engine's decoders, so that what they do themselves is the smaller part of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import torch
from torch import Generator, Tensor

from labkit import zoo
from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.labs.speculative.records import counts_of
from labkit.labs.speculative.speculation.models import check_rewind
from labkit.measuring.profiles import Profile
from labkit.measuring.records import Row, measured
from labkit.models.prompts import prompts
from labkit.models.sampling import Block


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt as tokens."""

    id: str
    source: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """What is written: n_new tokens after each prompt, or so many of a source; n_samples times."""

    n_new: int = 50
    n_per_source: int | None = None
    temperature: float = 1.0
    n_samples: int = 3
    seed: int = 0

    def row(self, experiment: str, pair: str, texts: Sequence[Text], setting: str) -> Row:
        """A row of these texts, not measured yet; n_input is a prompt's average."""
        n_input = round(sum(len(text.tokens) for text in texts) / len(texts))
        note = f"temperature {self.temperature:g}, {len(texts)} prompts"
        n_new = self.n_new * len(texts)
        words = {"outcome": "-", "setting": setting, "note": note}
        return Row(experiment, pair, 1, n_input, n_new, True, **words)


@dataclass(frozen=True, slots=True)
class Way:
    """Words for a row's setting; tokens to draft, 0 for none; a draft other than the pair's."""

    setting: str
    gamma: int
    make_draft: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True)
class Samplers:
    """What samples and copies: the functions of `labkit.speculative`, or a student's."""

    autoregressive: Callable[..., list[int]]
    speculative: Callable[..., list[int]]
    ngram_draft: Callable[..., list[int]]

    @classmethod
    def reference(cls) -> Samplers:
        """The functions of `labkit.speculative`."""
        from labkit import speculative as lab

        return cls(lab.autoregressive, lab.speculative, lab.ngram_draft)


class EngineModel:
    """A decoder of the engine as `labkit.models.sampling.CachedModel`.

    feeds_s: seconds of each call, of which the first one is the prompt's.
    """

    def __init__(self, decoder: Decoder) -> None:
        """With an empty cache: what the arena held is forgotten."""
        self.vocab_size: int = decoder.shape.vocab_size
        self.feeds_s: list[float] = []
        self._decoder, self._n_cached = decoder, 0
        decoder.arena.rewind(0)

    def n_cached(self) -> int:
        """Tokens in the cache."""
        return self._n_cached

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Cache the tokens; logits (T V). Raises: ValueError for none, or without room for them."""
        if len(tokens) == 0:
            raise ValueError("feed at least one token")
        start_s = time.perf_counter()
        fed = torch.tensor([list(tokens)], device=self._decoder.weights.device)
        logits = self._decoder.feed(fed)[0]
        self._n_cached += len(tokens)
        self.feeds_s.append(time.perf_counter() - start_s)
        return logits

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens. Raises: ValueError if there are fewer."""
        check_rewind(n_cached, self._n_cached)
        self._decoder.arena.rewind(n_cached)
        self._n_cached = n_cached


@dataclass
class Played:
    """What was seen of some runs: seconds of each text and run, of its prefills, and all blocks.

    steps_s: of the calls after the prompt's, by text and by "target" or "draft".
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    prefill_s: dict[str, list[float]] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    steps_s: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(
        self, id: str, seconds: float, blocks: Sequence[Block], feeds_s: Mapping[str, list[float]]
    ) -> None:
        """One more run of the text with this id; feeds_s: of all calls, by model."""
        self.seconds.setdefault(id, []).append(seconds)
        self.prefill_s.setdefault(id, []).append(sum(each[0] for each in feeds_s.values()))
        self.blocks += [replace(block, prompt_id=id) for block in blocks]
        for name, each in feeds_s.items():
            self.steps_s.setdefault((id, name), []).extend(each[1:])

    def filled(self, row: Row, texts: Sequence[Text]) -> Row:
        """The row with what was seen of these texts: a sample is a run over all of them.

        counts has seconds per run in prompts and in all steps, and the mean step of each model.
        """
        ids = [text.id for text in texts]
        samples_s, prefill_s = (
            list(map(sum, zip(*(each[i] for i in ids), strict=True)))
            for each in (self.seconds, self.prefill_s)
        )
        n_runs = len(samples_s)
        counts = {"runs": n_runs, "prefill_s": fmean(prefill_s), "steps_s": 0.0}
        for name in ("target", "draft"):
            steps_s = [s for i in ids for s in self.steps_s.get((i, name), [])]
            if steps_s:
                counts[f"{name}_step_s"] = fmean(steps_s)
                counts["steps_s"] += sum(steps_s) / n_runs
        blocks = [block for block in self.blocks if block.prompt_id in ids]
        return measured(row, samples_s, counts | counts_of(blocks))


class SampledPair:
    """A pair that can write, on the engine."""

    def __init__(self, pair: str, profile: Profile, n_positions: int = 1024) -> None:
        """Both models, each with room for n_positions tokens. Raises: as `zoo.load_pair`."""
        loaded = zoo.load_pair(pair, profile=profile)
        self.name, self.tokenizer = pair, loaded.target.tokenizer
        self.target, self.draft = (
            Decoder(weights_of(each.model, n_positions), n_positions)
            for each in (loaded.target, loaded.draft)
        )

    def texts(self, n_per_source: int | None = None) -> list[Text]:
        """The twenty prompts as tokens, or so many of each source."""
        by_source: dict[str, list[Text]] = {}
        for prompt in prompts():
            tokens = self.tokenizer(prompt.text)["input_ids"]
            text = Text(prompt.id, prompt.source, tuple(tokens))
            by_source.setdefault(prompt.source, []).append(text)
        return [text for group in by_source.values() for text in group[:n_per_source]]

    def play(
        self, samplers: Samplers, text: Text, n_new: int, way: Way, played: Played, **settings: Any
    ) -> None:
        """Write n_new tokens after a text; settings: as `labkit.speculative` takes them.

        Raises: ValueError if a sampler gives another number of tokens, or blocks that do not add up
        to it.
        """
        models, blocks = [EngineModel(self.target)], []
        start_s = time.perf_counter()
        if way.gamma == 0:
            new = samplers.autoregressive(models[0], text.tokens, n_new, **settings)
        else:
            models.append(way.make_draft() if way.make_draft else EngineModel(self.draft))
            words = settings | {"blocks": blocks}
            new = samplers.speculative(*models, text.tokens, n_new, way.gamma, **words)
        seconds = time.perf_counter() - start_s
        n_counted = len(blocks) + sum(block.n_accepted for block in blocks)
        if len(new) != n_new or (way.gamma and n_counted != n_new):
            raise ValueError(
                f"the sampler was asked for {n_new} tokens; it gave {len(new)}, in blocks of "
                f"{n_counted} tokens together. Do its checks pass?"
            )
        names = zip(("target", "draft"), models, strict=False)
        feeds_s = {name: model.feeds_s for name, model in names if hasattr(model, "feeds_s")}
        played.add(text.id, seconds, blocks, feeds_s)

    def play_in_turns(
        self, samplers: Samplers, texts: Sequence[Text], ways: Sequence[Way], task: Task
    ) -> list[Played]:
        """Every text in every way, as often as the task says: text by text, all ways of it."""
        words = {"temperature": task.temperature, "rng": Generator().manual_seed(task.seed)}
        for way in ways:
            self.play(samplers, texts[0], min(8, task.n_new), way, Played(), **words)
        played = [Played() for _ in ways]
        for _ in range(task.n_samples):
            for text in texts:
                for way, seen in zip(ways, played, strict=True):
                    self.play(samplers, text, task.n_new, way, seen, **words)
        return played
