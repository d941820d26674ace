"""What is seen of a speculative sampler: its blocks, its caches, and a model that it never rewinds.

A forgotten `rewind` changes all that comes after it: what is fed, accepted, reported and drawn. So
its sampler is played with a model that rewinds itself, and one check names the mistake.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from torch import Tensor

from labkit.bridge.student import Student, StudentError, raised_by
from labkit.checks.compare import show
from labkit.checks.core import Wrong
from labkit.labs.speculative.checks.cases import SamplingCase, guesses, n_alike, sure_text
from labkit.labs.speculative.checks.models import (
    Call,
    Mind,
    OfferedModel,
    SamplerRun,
    Tape,
    circle,
    verified_next,
)

RING = (3, 1, 4, 0, 5, 2)
PROBE = SamplingCase(
    "some", "sure", circle(RING), (3, 1, 4), 17, circle(RING, slips=(1, 5, 2)), (3,)
)
REJECTED = "The cache still holds rejected tokens."
SURE = ("sure", "cut", "silent", "asked", "ends", "greedy")  # kinds with one text only


def verified(run: SamplerRun, case: SamplingCase) -> list[Call]:
    """The target's calls after those for the prompt: one for each block that drafted anything."""
    calls = (call for call in run.calls if call.model == "target")
    return [call for call in calls if len(call.text) > len(case.prompt)]


@dataclass(frozen=True, slots=True)
class Seen:
    """A block of a run, as the target's call shows it. n_wanted: tokens that the draft could give.

    n_drafted: None where the target was not asked.
    """

    position: int
    n_wanted: int
    n_drafted: int | None
    n_kept: int


def blocks_of(run: SamplerRun, case: SamplingCase) -> list[Seen]:
    """The blocks of a run, found from its text and the calls that verified it."""
    return readings(run, case)[0]


def readings(run: SamplerRun, case: SamplingCase) -> list[list[Seen]]:
    """All divisions of a run into blocks that fit equally well.

    A sampler that has fed the target the whole prompt may draw the first token from the prompt's
    own row: in no block, or in one that drafts nothing and may have asked for a gamma.
    """
    start = len(case.prompt)
    found = [_blocks(run, case, start)]
    if any(call.model == "target" and call.text == case.prompt for call in run.calls):
        later, plain = _blocks(run, case, start + 1), Seen(start, 0, 0, 0)
        found += [later, [plain, *later], [plain, *_blocks(run, case, start + 1, n_asked=1)]]
    return [blocks for blocks in found if _n_misfits(blocks) == min(map(_n_misfits, found))]


def _n_misfits(blocks: list[Seen]) -> int:
    return sum(block.n_drafted != block.n_wanted for block in blocks)


def _blocks(run: SamplerRun, case: SamplingCase, position: int, n_asked: int = 0) -> list[Seen]:
    """The blocks from a position on. n_asked: gammas that were given out before."""
    text, calls = [*case.prompt, *run.new], iter(verified(run, case))
    gammas = islice(cycle(case.gammas), n_asked, None)
    is_cut = case.eos in run.new[-1:]  # tokens after it may have been accepted
    uncut = text + guesses(case.target, text, max(case.gammas)) * is_cut
    found = []
    while position < len(text):
        room = min(next(gammas), case.end - 1 - position)
        n_wanted, n_drafted = len(guesses(case.draft, text[:position], room)), 0
        n_kept = 0
        is_verified = position + n_wanted > len(case.prompt)
        call = next(calls, None) if is_verified or position == case.end - 1 else None
        if call is not None:
            n_drafted = len(call.text) - position
            n_kept = max(n_alike(call.text, uncut) - position, 0)
        elif is_verified:
            n_drafted = None
        found.append(Seen(position, n_wanted, n_drafted, n_kept))
        position += n_kept + 1
    return found


def was_rejected(run: SamplerRun, case: SamplingCase) -> bool:
    """Whether a drafted token was put to the test in vain; those past the end do not count."""
    blocks = blocks_of(run, case)
    return any(block.n_kept < min(block.n_drafted or 0, block.n_wanted) for block in blocks)


class _Draft(OfferedModel):
    """A draft that goes back when the target does, and never by itself."""

    def follow(self, n_cached: int) -> None:
        del self._cache[n_cached:]

    def rewind(self, n_cached: Any) -> None:
        self._tape.spend()


class _Leader(OfferedModel):
    """A target that takes its draft back with it."""

    draft: _Draft

    def rewind(self, n_cached: Any) -> None:
        super().rewind(n_cached)
        self.draft.follow(int(n_cached))


class _Target(OfferedModel):
    """A target that goes back by itself before it is fed.

    If nothing is left to chance, it keeps what is its own text. Else the draft's cache shows where
    the block began: it has the text and all drafted tokens but the last one.
    """

    draft: OfferedModel
    text: Sequence[int] = ()

    def feed(self, tokens: Any) -> Tensor:
        fed = list(tokens)[:99]
        kept = self._cache[: n_alike(self._cache, self.text)] if self.text else self._block(fed)
        self._cache[:] = kept
        return super().feed(fed)

    def _block(self, fed: list[int]) -> list[int]:
        known = self.draft._cache
        for n in (len(fed) - 1, len(fed)):
            text = known[: len(known) - n]
            if n and known[len(text) :] == fed[:n] and self._cache[: len(text)] == text:
                return text
        return self._cache

    def rewind(self, n_cached: Any) -> None:
        self._tape.spend()


def pair_of(
    target: Mind, draft: Mind, tape: Tape, forgotten: str, cached: Sequence[int] = (0, 0)
) -> list[OfferedModel]:
    """Target and draft; the forgotten one rewinds itself. cached: tokens that each holds."""
    kinds = {"target": (_Target, OfferedModel), "draft": (_Leader, _Draft)}
    target_kind, draft_kind = kinds.get(forgotten, (OfferedModel, OfferedModel))
    pair = [
        target_kind("target", target, tape, [0] * cached[0]),
        draft_kind("draft", draft, tape, [0] * cached[1]),
    ]
    if forgotten:
        pair[0].draft = pair[1]
    return pair


def models_of(case: SamplingCase, tape: Tape, forgotten: str) -> list[OfferedModel]:
    """The target, and the draft if there is one; the forgotten one rewinds itself."""
    if case.draft is None:
        return [OfferedModel("target", case.offered(case.target), tape)]
    minds = case.offered(case.target), case.offered(case.draft)
    target, draft = pair_of(*minds, tape, forgotten)
    if forgotten == "target" and case.kind in SURE:
        n = case.n_new + max(case.gammas) + 1
        target.text = [*case.prompt, *guesses(case.target, case.prompt, n)]
    return [target, draft]


class WrongCache(Wrong):
    """The cache of a model holds something else than the text. held: how many tokens, in words."""

    model = held = ""


def found_forgotten(student: Student, play: Callable[[str], SamplerRun]) -> tuple[str, str, str]:
    """The one model that the sampler does not rewind rightly, or "", and what its cache shows.

    The last is how many tokens it holds, "" if that is not seen.
    play: plays PROBE, in which this model rewinds itself. The run must go wrong without that, and
    must be right in all with it.
    """
    n_raised, errors = len(raised_by(student)), []

    def is_right(forgotten: str) -> bool:
        try:
            run = play(forgotten)
            expect_caches_hold_the_text(run, PROBE)
        except (Wrong, StudentError) as error:
            errors.append(error)
            return False
        n_calls, n_blocks = len(verified(run, PROBE)), len(blocks_of(run, PROBE))
        return run.new == sure_text(PROBE) and (not forgotten or n_calls <= n_blocks)

    names = ("", "target", "draft")
    found = next((name for name in names if is_right(name)), "")
    del raised_by(student)[n_raised:]
    first = errors[0] if errors else None
    held = first.held if isinstance(first, WrongCache) and first.model == found else ""
    return found, getattr(first, "why", ""), held


def expect_rewound(forgotten: str, shown: str, held: str) -> None:
    """Raise Wrong if one model is not rewound. shown, held: what its cache shows without that."""
    if forgotten:
        mend = f"Call `{forgotten}.rewind` after each block, with the right length."
        raise Wrong(
            f"the {forgotten}'s cache after a block with a rejected token, "
            f"with the prompt {show(list(PROBE.prompt))}",
            expected="the text without its last token",
            got=held or "another length",
            why=f"{shown} {mend}" if shown else mend,
        )


def expect_caches_hold_the_text(run: SamplerRun, case: SamplingCase) -> None:
    """When a model is fed, its cache is the beginning of the text."""
    text = (*case.prompt, *run.new)
    n_known = 0
    for call in (call for call in run.calls if call.model == "target"):
        _expect_one_text(call, text, n_known)
        n_known = n_alike(call.text, text)
    for i, call in enumerate(run.calls):
        if call.model == "draft":
            texts = verified_next(run, i) or [text]
            nearest = max(texts, key=lambda each: n_alike(call.text, each))
            _expect_one_text(call, nearest, len(nearest))


def _expect_one_text(call: Call, text: tuple[int, ...], n_known: int) -> None:
    """The cache is the beginning of the text, and what is fed goes on with it up to n_known."""
    n_right = n_alike(call.text, text)
    n_wanted = max(len(call.cached), min(n_known, len(call.text)))
    if n_right >= n_wanted:
        return
    why = "A token is missing before it."
    if 0 < n_right < len(call.cached):
        is_twice = call.text[n_right] == call.text[n_right - 1]
        n_more = len(call.cached) - n_right
        rejected = REJECTED if n_more > 1 else "The cache still holds a rejected token."
        why = "The token before it is there twice." if is_twice else rejected
    wrong = WrongCache(
        f"the {call.model}'s cache, once it is fed {show(list(call.fed))}",
        expected=show(list(text[:n_wanted])),
        got=show(list(call.text[:n_wanted])),
        where=f"token {n_right + 1}",
        why=why,
    )
    n_cached = len(call.cached)
    alike = f", of which {n_right} are the text" if n_right < n_cached else ""
    wrong.model, wrong.held = call.model, f"{n_cached} tokens{alike}"
    raise wrong
