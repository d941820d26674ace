"""Hidden cases of the samplers of lab 06: fresh tables, prompts, circles and settings."""

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from labkit.labs.speculative.checks.alone import ONE_TOKEN, SENSELESS, RefusalCase
from labkit.labs.speculative.checks.cases import SamplingCase, guesses, under_settings
from labkit.labs.speculative.checks.models import Network, Table, circle, disjoint, generic

MARGIN = 0.01  # between top_p and every sum that it is compared with


def loop_cases(rng: random.Random) -> dict[str, list]:
    """The cases of both samplers; the same state of `rng` gives the same cases."""
    return {
        "autoregressive": [*_alone(rng), *SENSELESS],
        "speculative": [
            *_laws(rng),
            *_twins(rng),
            *_greedy(rng),
            *_sure(rng),
            *_ends(rng),
            *_gammas(rng),
            *_repeated(rng),
            *SENSELESS,
            RefusalCase("gamma 0", (("gamma", 0),)),
            RefusalCase("gamma -2", (("gamma", -2),)),
            RefusalCase("another text in the draft's cache", ONE_TOKEN, cached=(("draft", 3),)),
            RefusalCase("a smaller vocabulary", ONE_TOKEN, draft_vocab=4),
            RefusalCase("a larger vocabulary", ONE_TOKEN, draft_vocab=7),
        ],
    }


def _seeds(rng: random.Random) -> Iterator[int]:
    while True:
        yield rng.randrange(1, 10**6)


def _prompt(rng: random.Random, vocab_size: int, n: int) -> tuple[int, ...]:
    return tuple(rng.randrange(vocab_size) for _ in range(n))


def _alone(rng: random.Random) -> list[SamplingCase]:
    seeds, ring = _seeds(rng), _with_0_at(2, _ring(rng))
    end = rng.randrange(3)
    greedy = {"temperature": 0}
    n = rng.randint(5, 8)
    return [
        SamplingCase("law", "law", generic(3, next(seeds)), (2, 0, 1), 3),
        SamplingCase("one token before", "law", generic(3, next(seeds)), ((end + 1) % 3,), 3,
                     settings={"eos": end}),
        *(
            SamplingCase(
                "settings", "settings", _clear_table(rng, **each), (1, 2), 2, settings=each
            )
            for each in _settings(rng)
        ),
        SamplingCase("greedy", "settings", generic(4, next(seeds)), (3, 1), 6, settings=greedy),
        SamplingCase("none", "ends", circle(ring), ring[:2], 0),
        SamplingCase("first", "ends", circle(ring), ring[:2], 5, settings={"eos": ring[2]}),
        SamplingCase("later", "ends", circle(ring), ring[:2], 6, settings={"eos": ring[5]}),
        SamplingCase("in the prompt", "ends", circle(ring), ring[:3], 4, settings={"eos": ring[1]}),
        SamplingCase("ends it", "ends", circle(ring), ring[:3], 4, settings={"eos": ring[2]}),
        SamplingCase("circle", "sure", circle(ring), ring[2:5], n),
        SamplingCase("circle from one token", "sure", circle(ring), ring[3:4], n),
        SamplingCase("one token", "sure", circle(ring), ring[3:6], 1),
        SamplingCase("rng", "repeated", generic(4, next(seeds)), (3, 1), 40),
    ]  # fmt: skip


def _laws(rng: random.Random) -> list[SamplingCase]:
    """Few paths, but among them rejections, full acceptances, a bonus, zeros, several blocks."""
    seeds = _seeds(rng)

    def pair(vocab_size: int, least: float = 0.06) -> tuple[Table, Table]:
        return generic(vocab_size, next(seeds), least), generic(vocab_size, next(seeds), least)

    (two, other), (long, its_draft), (three, another) = pair(2, 0.1), pair(2, 0.1), pair(3)
    (ending, hasty), apart, end = pair(2, 0.15), next(seeds), rng.randrange(2)
    far = disjoint(3, apart, is_draft=False), disjoint(3, apart, is_draft=True)
    return [
        SamplingCase("three tokens", "law", three, _prompt(rng, 3, 1), 3, another, (1,)),
        SamplingCase("two tokens", "law", two, _prompt(rng, 2, 2), 3, other),
        SamplingCase("several blocks", "law", long, _prompt(rng, 2, 3), 4, its_draft, (1,)),
        SamplingCase("ends early", "law", ending, (1 - end, 1 - end), 4, hasty, (2,),
                     {"eos": end}),
        SamplingCase("apart", "law", far[0], (1, 0), 3, far[1]),
        SamplingCase("apart at once", "law", far[1], (1,), 2, far[0], (1,)),
    ]  # fmt: skip


def _settings(rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"temperature": rng.uniform(0.4, 0.6), "top_k": 2},
        {"temperature": rng.uniform(1.5, 1.9), "top_p": rng.uniform(0.65, 0.75)},
        {"temperature": rng.uniform(1.2, 1.5), "top_k": 2, "top_p": rng.uniform(0.65, 0.7)},
    ]


def _clear_table(rng: random.Random, **settings: Any) -> Table:
    """A random table whose sums are all far enough from top_p, and some row loses a token."""
    seeds = _seeds(rng)
    tables = (generic(3, seed) for seed in seeds)
    return next(
        table for table in tables if _is_clear(table, **settings) and _is_used(table, **settings)
    )


def _is_used(table: Table, **settings: Any) -> bool:
    """Whether the first new token shows it if one of top_k and top_p is left out."""
    row = table.probs_after((1, 2))
    right = under_settings(row, **settings)
    others = (
        under_settings(row, **{name: each for name, each in settings.items() if name != left_out})
        for left_out in ("top_k", "top_p")
    )
    return all(abs(max(right) - max(other)) > MARGIN for other in others) or len(settings) < 3


def _is_clear(table: Table, temperature: float, top_k: int = 3, top_p: float = 1.0) -> bool:
    texts = [(before, last) for before in range(3) for last in range(3)] + [(i,) for i in range(3)]
    n_left = []
    for text in texts:
        probs = under_settings(table.probs_after(text), temperature, top_k)
        sums = list(accumulate(sorted(probs, reverse=True)))[:-1]
        if top_p < 1 and any(abs(one - top_p) < MARGIN for one in sums):
            return False
        n_left.append(sum(p > 0 for p in under_settings(probs, 1.0, None, top_p)))
    return n_left.count(2) >= 4


def _twins(rng: random.Random) -> list[SamplingCase]:
    """One model as target and as draft, with the same settings."""
    tables = [(settings, _clear_table(rng, **settings)) for settings in _settings(rng)]
    return [
        SamplingCase("one model twice", "settings", table, (1, 2), 3, table, (2,), settings)
        for settings, table in tables
    ]


def _greedy(rng: random.Random) -> list[SamplingCase]:
    prompt, gamma = _prompt(rng, 24, rng.randint(2, 5)), (rng.randint(2, 4),)
    seeds, settings = _seeds(rng), {"temperature": 0}
    twin = next(target for target in map(Network, seeds) if _is_decided(target, prompt))
    pair = next(
        pair
        for pair in ((Network(seed), Network(seed, bias=2.0)) for seed in seeds)
        if _is_decided(pair[0], prompt) and _is_telling(_agreed(*pair, prompt), gamma[0])
    )
    return [
        SamplingCase("two networks", "greedy", pair[0], prompt, 24, pair[1], gamma, settings),
        SamplingCase("one network twice", "greedy", twin, prompt, 24, twin, gamma, settings),
    ]


def _is_decided(target: Network, prompt: tuple[int, ...]) -> bool:
    """Whether no two tokens are nearly as likely, so that rounding decides nothing."""
    new = guesses(target, prompt, 24)
    rows = [target.probs_after([*prompt, *new[:i]]) for i in range(24)]
    best = [sorted(row, reverse=True)[:2] for row in rows]
    return len(set(new)) >= 4 and all(first - second > 1e-3 * first for first, second in best)


def _agreed(target: Network, draft: Network, prompt: tuple[int, ...]) -> list[bool]:
    """Whether the draft would say the same, token by token."""
    new = guesses(target, prompt, 24)
    return [guesses(draft, [*prompt, *new[:i]], 1) == [new[i]] for i in range(24)]


def _is_telling(agreed: list[bool], gamma: int) -> bool:
    """Whether tokens are rejected, and after a full acceptance the draft would have gone wrong."""
    start, n_rejected, is_bonus_different = 0, 0, False
    while start < len(agreed):
        room = agreed[start : start + min(gamma, len(agreed) - start - 1)]
        n_kept = [*room, False].index(False)
        n_rejected += n_kept < len(room)
        is_bonus_different |= n_kept == gamma and not agreed[start + n_kept]
        start += n_kept + 1
    return n_rejected >= 3 and is_bonus_different


def _repeated(rng: random.Random) -> list[SamplingCase]:
    one, other = (generic(4, seed) for seed in rng.sample(range(10**6), 2))
    return [SamplingCase("rng", "repeated", one, (3, 1), 40, other, (3,))]


def _ring(rng: random.Random, size: int = 7) -> tuple[int, ...]:
    return tuple(rng.sample(range(size), size))


def _with_0_at(place: int, ring: tuple[int, ...]) -> tuple[int, ...]:
    """The same circle, begun elsewhere."""
    start = ring.index(0) - place
    return (*ring, *ring)[start % len(ring) :][: len(ring)]


def _sure(rng: random.Random) -> list[SamplingCase]:
    """No chance: all accepted, none, some; every kind of block is among them."""
    ring = _ring(rng)
    gamma = rng.randint(2, 4)
    cases = [
        SamplingCase("all stay", "sure", circle(ring), ring[2:4], 3 * gamma,
                     circle(ring), (gamma,)),
        SamplingCase("none stays", "sure", circle(ring), ring[4:5], 5,
                     circle(ring, ring), (gamma,)),
        SamplingCase("one at a time", "sure", circle(ring), ring[:3], 7,
                     circle(ring, rng.sample(ring, 2)), (1,)),
        SamplingCase("a large gamma", "sure", circle(ring), ring[1:2], 3, circle(ring), (9,)),
        SamplingCase("one token", "sure", circle(ring), ring[5:7], 1, circle(ring), (gamma,)),
    ]  # fmt: skip
    cases.append(SamplingCase("a large gamma", "sure", circle(ring), ring[2:4], 16, circle(ring),
                              (rng.randint(5, 7),)))  # fmt: skip
    slips = (ring[2], ring[4], ring[5])  # after a block of 0, 1 or 3 tokens that stay
    mixed = circle(ring, slips)
    return [*cases, SamplingCase("some stay", "sure", circle(ring), ring[:3], 20, mixed, (3,))]


def _ends(rng: random.Random) -> list[SamplingCase]:
    """The end among the drafted tokens, as the last one drafted, as a bonus, as a replacement."""
    ring = _with_0_at(4, _ring(rng))

    def ends(
        name: str, place: int, slips: tuple[int, ...] = (), kind: str = "ends"
    ) -> SamplingCase:
        settings, draft = {"eos": ring[place]}, circle(ring, slips)
        return SamplingCase(name, kind, circle(ring), ring[:1], 9, draft, (3,), settings)

    return [
        SamplingCase("none", "ends", circle(ring), ring[:2], 0, circle(ring)),
        ends("first drafted", 1),
        ends("last drafted", 3),
        ends("bonus", 4),
        ends("second block", 6),
        ends("accepted and cut off", 6, kind="cut"),
        ends("replacement", 2, ring),
        *(SamplingCase("in the prompt", "ends", circle(ring), ring[:3], 3, circle(ring), (2,),
                       {"eos": token}) for token in ring[1:3]),
    ]  # fmt: skip


def _gammas(rng: random.Random) -> list[SamplingCase]:
    """A draft that is silent after some tokens; gammas that are asked for, none too large."""
    ring = _ring(rng)
    silent = circle(ring, silent=(ring[1], ring[rng.choice((3, 4))]))
    gammas = (*rng.sample((0, 1, 3), 3), 2)
    n_new = sum(gamma + 1 for gamma in gammas)
    return [
        SamplingCase("silent", "silent", circle(ring), ring[:1], 16, silent, (3,)),
        SamplingCase("silent in the middle", "silent", circle(ring), ring[2:4], 12, silent, (2,)),
        SamplingCase("asked", "asked", circle(ring), ring[1:3], n_new, circle(ring), gammas),
    ]
