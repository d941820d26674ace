"""Texts that a pair writes by speculation, and by the target alone, with their times and blocks.

The functions that sample are arguments: in the notebook they are the student's own. They run on the
engine's decoders, so that what they do themselves is the smaller part of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median
from typing import Any

from torch import Generator

from labkit import zoo
from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.labs.speculative.records import ALONE, counts_of
from labkit.measuring.device import rows_in_room
from labkit.measuring.profiles import PAIRS, MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import with_time_left
from labkit.models.prompts import prompts
from labkit.models.sampling import Block
from labkit.zoo.choose import kit_tokenizer

N_POSITIONS, N_WARM_UP = 1024, 8  # of a decoder; tokens that are written before the first timing


@dataclass(frozen=True, slots=True)
class Text:
    """The start of a text: a prompt as tokens, or a batch of prompts."""

    id: str
    source: str
    tokens: tuple


@dataclass(frozen=True, slots=True)
class Task:
    """The texts to write: n_new tokens after each prompt, or n of a source; n_samples times."""

    n_new: int = 50
    n_per_source: int | None = None
    temperature: float = 1.0
    n_samples: int = 10
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
    """Words for a row's setting; tokens to draft, 0 for none; a draft other than the pair's.

    make_draft(target): for the target that will verify it.
    """

    setting: str
    gamma: int
    make_draft: Callable[[Any], Any] | None = None


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

        counts has per run the seconds of prompts (the median: a GPU prepares for each new length in
        its first run) and of all steps, and the calls of each model and their mean duration.
        """
        ids = [text.id for text in texts]
        samples_s, prefill_s = (
            list(map(sum, zip(*(each[i] for i in ids), strict=True)))
            for each in (self.seconds, self.prefill_s)
        )
        n_runs = len(samples_s)
        counts = {"runs": n_runs, "prefill_s": median(prefill_s), "steps_s": 0.0}
        for name in ("target", "draft"):
            steps_s = [s for i in ids for s in self.steps_s.get((i, name), [])]
            if steps_s:
                counts[f"{name}_step_s"] = fmean(steps_s)
                counts[f"{name}_calls"] = len(steps_s) / n_runs
                counts["steps_s"] += sum(steps_s) / n_runs
        blocks = [block for block in self.blocks if block.prompt_id in ids]
        return measured(row, samples_s, counts | counts_of(blocks))


class Player:
    """A pair that samplers can play on. Its models count the seconds of each call, `feeds_s`."""

    def models(self, way: Way) -> list[Any]:
        """The target, and the draft if there is one, with empty caches."""
        raise NotImplementedError

    def play(
        self, samplers: Samplers, text: Text, n_new: int, way: Way, played: Played, **settings: Any
    ) -> None:
        """Write n_new tokens after a text; settings: as `labkit.speculative` takes them.

        Raises: ValueError if a sampler gives another number of tokens, or blocks that do not add up
        to it.
        """
        models, blocks = self.models(way), []
        start_s = time.perf_counter()
        if way.gamma == 0:
            new = samplers.autoregressive(models[0], text.tokens, n_new, **settings)
        else:
            words = settings | {"blocks": blocks}
            new = samplers.speculative(*models, text.tokens, n_new, way.gamma, **words)
        seconds = time.perf_counter() - start_s
        n_counted = len(blocks) + sum(block.n_accepted for block in blocks)
        if len(new) != n_new or (way.gamma and n_counted != n_new):
            raise ValueError(
                f"the sampler was asked for {n_new} tokens; it gave {len(new)}, in blocks of "
                f"{n_counted} tokens together. Do its checks pass?"
            )
        played.add(text.id, seconds, blocks, feeds_s_of(models))


class SampledPair(Player):
    """A pair that can write, on the engine."""

    def __init__(self, pair: str, profile: MachineProfile) -> None:
        """Both models, with room for texts of N_POSITIONS tokens. Raises: as `zoo.load_pair`."""
        loaded = zoo.load_pair(pair, profile=profile)
        self.name = pair
        both = (loaded.target, loaded.draft)
        self._weights = [weights_of(each.model, N_POSITIONS) for each in both]
        self.target, self.draft = self.decoders()

    def decoders(self, n_sequences: int = 1) -> list[Decoder]:
        """The decoders of target and draft, for batches of this many texts."""
        return [Decoder(weights, N_POSITIONS, n_sequences) for weights in self._weights]

    def models(self, way: Way) -> list[Any]:
        """The target on the engine; and the way's own draft, or the pair's."""
        target = EngineModel(self.target)
        draft = way.make_draft or (lambda _: EngineModel(self.draft))
        return [target, *([draft(target)] if way.gamma else [])]


def texts_of(pair: str, n_per_source: int | None = None) -> list[Text]:
    """The twenty prompts as tokens of one of the kit's pairs, or a number of each source."""
    tokenizer, by_source = kit_tokenizer(PAIRS[pair][0]), {}
    for prompt in prompts():
        text = Text(prompt.id, prompt.source, tuple(tokenizer(prompt.text)["input_ids"]))
        by_source.setdefault(prompt.source, []).append(text)
    return [text for group in by_source.values() for text in group[:n_per_source]]


def feeds_s_of(models: Sequence[Any]) -> dict[str, list[float]]:
    """Of the target and the draft, if they count it: a draft that copies does not."""
    names = zip(("target", "draft"), models, strict=False)
    return {name: model.feeds_s for name, model in names if hasattr(model, "feeds_s")}


def play_in_turns(
    play: Callable[..., None], texts: Sequence[Text], ways: Sequence[Way], task: Task
) -> list[Played]:
    """Every text in every way, as often as the task says: text by text, all ways of it."""
    words = {"temperature": task.temperature, "rng": Generator("cpu").manual_seed(task.seed)}
    for way in ways:
        play(texts[0], min(N_WARM_UP, task.n_new), way, Played(), **words)
    played = [Played() for _ in ways]
    rounds = [text for _ in range(task.n_samples) for text in texts]
    for text in with_time_left(rounds, f"{ALONE} to {ways[-1].setting}", "text"):
        for way, seen in zip(ways, played, strict=True):
            play(text, task.n_new, way, seen, **words)
    return played


def written(
    rows: Sequence[Row],
    make_play: Callable[[], Callable[..., None]],
    texts: Sequence[Text],
    ways: Sequence[Way],
    task: Task,
    is_done: IsDone,
    more: Callable[[Row, Played], Iterable[Row]] = lambda row, seen: (),
) -> Iterator[Row]:
    """Each way's row once all have been played; none if all are done.

    make_play() loads the models and gives what plays them. more: rows that come before a way's own.
    """

    def measure() -> Iterator[Row]:
        for row, seen in zip(rows, play_in_turns(make_play(), texts, ways, task), strict=True):
            yield from more(row, seen)
            yield seen.filled(row, texts)

    if not all(is_done(row.key) for row in rows):
        yield from rows_in_room(rows, measure)
