"""What speculation gains: tokens per block, seconds per token, and the gamma that pays best.

Source: Leviathan et al. 2023 (arXiv:2211.17192), sections 3.1 and 3.3 to 3.5.
"""

from collections.abc import Callable, Iterable

from labkit.speculative import Block


def expected_tokens(alpha: float, gamma: int) -> float:
    """Tokens per block, on average, if each drafted token is accepted with probability alpha.

    The token that the target adds included: (1 - alpha^(gamma + 1)) / (1 - alpha), and gamma + 1
    for alpha = 1.

    Raises: ValueError for alpha outside [0, 1] or gamma < 0.
    Source: Leviathan et al., equation 1.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a probability, from 0 to 1; got {alpha}")
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, not {gamma}")
    return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))


def speedup(alpha: float, gamma: int, draft_s: float, target_s: float, verify_s: float) -> float:
    """How many times faster than plain decoding: seconds per token of that, over those of this.

    Seconds of one step of the draft, of one step of the target, and of one call of the target that
    verifies gamma tokens.

    Raises: as `expected_tokens`.
    Source: Leviathan et al., Theorem 3.8, where verify_s = target_s.
    """
    block_s = gamma * draft_s + verify_s
    return expected_tokens(alpha, gamma) * target_s / block_s


def best_gamma(
    alpha: float,
    draft_s: float,
    target_s: float,
    verify_s: Callable[[int], float],
    max_gamma: int = 64,
) -> int:
    """The gamma from 1 to max_gamma with the largest speedup; 0 if none is faster than plain.

    verify_s(gamma): seconds of a call of the target that verifies gamma tokens. Of equals the
    smallest.

    Raises: as `expected_tokens`.
    """

    def gain(gamma: int) -> float:
        return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0

    return max(range(max_gamma + 1), key=gain)


def acceptance_rate(blocks: Iterable[Block]) -> float:
    """Accepted tokens per examined one, over all blocks: the estimate of alpha.

    Drafted tokens behind a rejected one were never examined; to count them would make the rate fall
    with gamma although nothing about the models has changed.

    Raises: ValueError if no token was examined.
    """
    blocks = list(blocks)
    n_examined = sum(block.examined for block in blocks)
    if n_examined == 0:
        raise ValueError("no drafted token was examined, so there is no acceptance rate")
    return sum(block.n_accepted for block in blocks) / n_examined
