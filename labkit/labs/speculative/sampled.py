"""Speculation that really samples, on a CPU: pairs and gammas, sources of prompts, regimes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from labkit.labs.speculative.records import ALONE
from labkit.labs.speculative.runs import SampledPair, Samplers, Task, Way
from labkit.labs.speculative.speculation.drafts import CopyDraft
from labkit.measuring.profiles import Profile
from labkit.measuring.records import IsDone, Row

REGIMES = {"simple": "pattern", "normal": "instruction"}  # kinds of prompts, and their source


def sampled(
    profile: Profile,
    pair: str,
    samplers: Samplers,
    task: Task,
    gammas: Sequence[int],
    is_done: IsDone,
) -> Iterator[Row]:
    """The rows of the experiment speculation for a pair, and by_source."""
    models = SampledPair(pair, profile)
    texts = models.texts(task.n_per_source)
    ways = [Way(ALONE, 0), *(Way(f"gamma {gamma}", gamma) for gamma in gammas)]
    rows = [task.row("speculation", pair, texts, way.setting) for way in ways]
    if all(is_done(row.key) for row in rows):
        return
    found = models.play_in_turns(samplers, texts, ways, task)
    for row, seen in zip(rows, found, strict=True):
        for source in dict.fromkeys(text.source for text in texts):
            some = [text for text in texts if text.source == source]
            each = task.row("by_source", pair, some, f"{row.setting}, {source}")
            yield seen.filled(each, some)
        yield seen.filled(row, texts)


def sampled_regimes(
    profile: Profile,
    pair: str,
    samplers: Samplers,
    task: Task,
    gammas: Sequence[int],
    lengths: Sequence[int],
    is_done: IsDone,
) -> Iterator[Row]:
    """Two kinds of prompts, numbers of new tokens, drafts by a model and by copying."""
    models = SampledPair(pair, profile)
    vocab_size = models.target.shape.vocab_size
    drafts = {"model": None, "n-gram": lambda: CopyDraft(samplers.ngram_draft, vocab_size)}
    for kind, source in REGIMES.items():
        texts = [text for text in models.texts(task.n_per_source) if text.source == source]
        for n_new in lengths:
            regime = f"{kind}, {n_new} new"
            ways = [Way(f"{ALONE}, {regime}", 0)]
            for name, make_draft in drafts.items():
                ways += [Way(f"gamma {n}, {regime}, {name}", n, make_draft) for n in gammas]
            written = replace(task, n_new=n_new)
            rows = [written.row("regimes", pair, texts, way.setting) for way in ways]
            if not all(is_done(row.key) for row in rows):
                found = models.play_in_turns(samplers, texts, ways, written)
                for row, seen in zip(rows, found, strict=True):
                    yield seen.filled(row, texts)
