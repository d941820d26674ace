"""Checks of `acceptance_rate`, part of `labkit.labs.speculative.checks`."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from labkit.checks.tables import CallTable, Claim, Made, call, made
from labkit.models.sampling import Block

SINGLE_PRECISION = 1e-5


def blocks(counts: Iterable[tuple[int, int, str]]) -> list[Made]:
    """Blocks by their (tokens drafted, tokens accepted, prompt); one stands after the other."""
    found, position = [], 1
    for n_drafted, n_accepted, prompt in counts:
        found.append(made(Block, n_drafted, n_accepted, position, "", prompt))
        position += n_accepted + 1
    return found


def rate_slips(blocks: Sequence[Block]) -> dict[str, float | type[Exception]]:
    """The rates of known mistakes, each with its sentence."""
    n_drafted, n_accepted = (
        sum(getattr(block, name) for block in blocks) for name in ("n_drafted", "n_accepted")
    )
    tried = [block for block in blocks if block.n_drafted]
    examined = sum(map(_examined, blocks))
    by_prompt: dict[str, list[Block]] = {}
    for block in tried:
        by_prompt.setdefault(block.prompt_id, []).append(block)
    return {
        "That is accepted over drafted tokens: it falls with gamma.": n_accepted / n_drafted,
        "Do not count the tokens that the target adds.": (n_accepted + len(blocks)) / n_drafted,
        "In a block that is accepted whole, no token is rejected.": (
            n_accepted / (n_accepted + len(tried))
        ),
        "Blocks that are accepted whole count, too.": (
            _rate([block for block in tried if block.n_accepted < block.n_drafted])
        ),
        "If nothing is drafted, nothing is examined.": (
            n_accepted / (examined + len(blocks) - len(tried))
        ),
        "That is a mean over blocks: short blocks count too much.": (
            fmean(_rate([block]) for block in tried)
        ),
        "That is a mean over prompts: short texts count too much.": (
            fmean(map(_rate, by_prompt.values()))
        ),
    }


def _examined(block: Block) -> int:
    return min(block.n_accepted + 1, block.n_drafted)


def _rate(blocks: Sequence[Block]) -> float | type[Exception]:
    examined = sum(map(_examined, blocks))
    return sum(block.n_accepted for block in blocks) / examined if examined else ValueError


acceptance_rate = CallTable(
    "acceptance_rate",
    "the acceptance rate",
    [
        Claim(
            "what_was_not_examined_does_not_count",
            "Drafted tokens after a rejected one are not examined, and do not count.",
            hint="Count the accepted tokens and the rejected one as examined, not those after it.",
            weight=2,
            why="Examined are the tokens up to the first rejected one.",
            rows=[
                call(blocks([(5, 2, "a"), (3, 2, "a"), (7, 2, "b")])).gives(2 / 3),
                call(blocks([(4, 0, "a"), (2, 0, "b")])).gives(0),
            ],
        ),
        Claim(
            "a_block_accepted_whole_has_no_rejected_token",
            "If all drafted tokens are accepted, exactly these are examined.",
            hint="If all drafted tokens are accepted, count no rejected one.",
            rows=[
                call(blocks([(3, 3, "a"), (3, 2, "a"), (3, 3, "a")])).gives(8 / 9),
                call(blocks([(4, 4, "a"), (4, 4, "a")])).gives(1),
            ],
        ),
        Claim(
            "every_examined_token_weighs_the_same",
            "The rate is all accepted tokens divided by all examined ones, not a mean of ratios.",
            hint="Add up over all blocks first, then divide once.",
            rows=[call(blocks([(1, 0, "a"), (8, 7, "b"), (3, 2, "a")])).gives(0.75)],
        ),
        Claim(
            "a_plain_step_examines_nothing",
            "A block without drafted tokens does not change the rate.",
            hint="Count 0 examined tokens for a block with n_drafted = 0.",
            rows=[call(blocks([(3, 2, "a"), (0, 0, "a"), (3, 2, "b"), (0, 0, "c")])).gives(2 / 3)],
        ),
        Claim(
            "without_trials_there_is_no_rate",
            "Without any examined token, acceptance_rate raises ValueError.",
            hint="Raise ValueError if no token was examined.",
            weight=0.5,
            gate=False,
            what="the rate of plain steps alone",
            rows=[
                call([]).gives(ValueError),
                call(blocks([(0, 0, "a")] * 3)).gives(ValueError),
                call(blocks([(2, 1, "a")])).gives(0.5),
            ],
        ),
    ],
    slips=rate_slips,
    relative=SINGLE_PRECISION,
)
