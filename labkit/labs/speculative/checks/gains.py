"""Checks of the acceptance rate and of what speculation gains.

Prompt lookup and the best gamma have modules of their own.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

from labkit.checks.tables import CallTable, Claim, Made, call, made
from labkit.labs.speculative.checks.search import NO_CHANCE
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


def token_slips(alpha: float, gamma: int, *_: float) -> dict[str, float]:
    """The tokens of a block, and with them the speedup, by known mistakes."""
    right = sum(alpha**n for n in range(gamma + 1))
    return {
        "The tokens of a block are missing.": 1.0,
        "A token counts only if all tokens before it are accepted.": 1 + gamma * alpha,
        "Add the token that the target adds.": right - 1,
        "The last power is missing: add up to alpha^gamma.": right - alpha**gamma,
        "The token that the target adds always counts: begin with 1.": (gamma + 1) * alpha,
    }


def block_slips(
    alpha: float, gamma: int, draft_s: float, target_s: float, verify_s: float
) -> dict[str, float]:
    """The speedup with one token in a block, if its time is a known mistake."""
    right_s = gamma * draft_s + verify_s
    times_s = {
        "That is the inverse: a larger speedup should be better.": 1 / right_s,
        "Count gamma steps of the draft, not gamma + 1.": right_s + draft_s,
        "Count gamma steps of the draft, not one.": draft_s + verify_s,
        "A verification takes verify_s, not target_s.": gamma * draft_s + target_s,
        "One call of the target verifies all tokens: count verify_s once.": (
            right_s + gamma * verify_s
        ),
        "Add the steps of the draft.": verify_s,
        "Drafts and verification follow each other: add their times.": (
            max(gamma * draft_s, verify_s)
        ),
    }
    return {text: target_s / block_s for text, block_s in times_s.items()}


def cut_slips(
    alpha: float, gamma: int, draft_s: float, target_s: float, verify_s: float
) -> dict[str, float]:
    """The speedup if alpha is cut to the range of probabilities."""
    if gamma < 0:
        return {}
    n_tokens = 1 if alpha < 0 else gamma + 1
    cut = "You cut alpha to the range from 0 to 1. That hides a mistake in counting."
    return {cut: n_tokens * target_s / (gamma * draft_s + verify_s)}


speedup = CallTable(
    "speedup",
    "the speedup",
    [
        Claim(
            "a_block_takes_its_drafts_and_one_verification",
            "A block takes gamma draft steps and one verification; with alpha 0 it adds one token.",
            hint="A block takes gamma * draft_s + verify_s.",
            what="the speedup with alpha 0 and target_s 1",
            rows=[
                call(0.0, 5, 0.1, 1.0, 1.6).gives(1 / 2.1),
                call(0.0, 2, 0.025, 1.0, 0.034).gives(1 / 0.084),
            ],
            slips=block_slips,
        ),
        Claim(
            "all_tokens_of_a_block_are_gained",
            "The speedup is proportional to the tokens per block.",
            hint="Multiply by 1 + alpha + alpha^2 + ... + alpha^gamma.",
            of=lambda f, alpha, *others: f(alpha, *others) / f(0.0, *others),
            what="the speedup, divided by that with alpha 0",
            slips=token_slips,
            relative=2 * SINGLE_PRECISION,
            rows=[
                call(0.8, 5, 0.1, 2.0, 1.6).gives(3.68928),
                call(0.5, 2, 0.025, 0.033, 0.034).gives(1.75),
                call(1.0, 4, 0.1, 2.0, 1.6).gives(5),
            ],
        ),
        Claim(
            "plain_decoding_is_what_is_compared_with",
            "The speedup is proportional to target_s.",
            hint="Multiply by target_s, the time of a plain step.",
            of=lambda f, a, n, draft_s, target_s, verify_s: (
                f(a, n, draft_s, target_s, verify_s) / f(a, n, draft_s, 1.0, verify_s)
            ),
            what="the speedup, divided by that with target_s 1",
            relative=2 * SINGLE_PRECISION,
            rows=[
                call(0.8, 5, 0.1, 2.0, 1.6).gives(2),
                call(0.5, 2, 0.025, 0.033, 0.034).gives(0.033),
            ],
        ),
        Claim(
            "no_speedup_without_a_probability",
            "alpha outside [0, 1] or gamma below 0 raises ValueError here, too.",
            hint="Check alpha and gamma before you compute.",
            weight=0.5,
            gate=False,
            what="an alpha that is no probability, or a negative gamma",
            rows=[
                *(call(alpha, 5, 0.1, 2.0, 1.6).gives(ValueError) for alpha in NO_CHANCE),
                call(0.8, -1, 0.1, 2.0, 1.6).gives(ValueError),
            ],
            slips=cut_slips,
        ),
    ],
    relative=SINGLE_PRECISION,
)
