"""The blocks of a speculative sampler, found from its text and from the tokens fed."""

from dataclasses import dataclass
from itertools import cycle

from labkit.labs.speculative.checks.cases import SamplingCase, guesses, n_alike
from labkit.labs.speculative.checks.models import Call
from labkit.labs.speculative.checks.runs import SamplerRun


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
    own row: in no block, or in one that drafts nothing.
    """
    start = len(case.prompt)
    found = [_blocks(run, case, start)]
    if any(call.model == "target" and call.text == case.prompt for call in run.calls):
        later = _blocks(run, case, start + 1)
        found += [later, [Seen(start, 0, 0, 0), *later]]
    return [blocks for blocks in found if _n_misfits(blocks) == min(map(_n_misfits, found))]


def _n_misfits(blocks: list[Seen]) -> int:
    return sum(block.n_drafted != block.n_wanted for block in blocks)


def _blocks(run: SamplerRun, case: SamplingCase, position: int) -> list[Seen]:
    text, calls, gammas = [*case.prompt, *run.new], iter(verified(run, case)), cycle(case.gammas)
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


def verified_next(run: SamplerRun, index: int) -> list[tuple[int, ...]]:
    """The texts that the target is asked about after that call and before the draft's next one."""
    found: list[tuple[int, ...]] = []
    for call in run.calls[index + 1 :]:
        if call.model == "target":
            found.append(call.text)
        elif found:
            break
    return found
