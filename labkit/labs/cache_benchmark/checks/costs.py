"""Checks of lab 3's sums over passes.

Models are those of the fact tables, named in the call and built where the student's code runs.
"""

from collections.abc import Callable

from labkit.checks.tables import CallTable, Claim, Slips, call, made
from labkit.measuring.roofline import ModelWork

# A sum over a dozen passes in single precision is this exact. If passes are tensors, all that is
# computed from them is a tensor. The smallest slip that changes a sum is one cached token more in
# every step; it changes the sum by 1.2e-6.
SINGLE_PRECISION = 1e-6
LLAMA, GEMMA = "meta-llama/Llama-3.2-1B", "google/gemma-3-1b-it"


def pass_slips(slips: dict[str, Callable[[int, int], list[int]]]) -> Slips:
    """All passes by known mistakes. slips: pass i as (fed, cached) after a prompt."""
    return lambda n_prompt, n_new, use_cache: {
        text: [slip(n_prompt, i) for i in range(n_new)] for text, slip in slips.items()
    }


def first_passes(passes: Callable, n_prompt: int, n_new: int, use_cache: bool) -> list:
    """As many passes as there should be: their number is another claim's matter."""
    return passes(n_prompt, n_new, use_cache)[:n_new]


NO_PREFILL = {
    True: "there is no prefill with a cache either.",
    False: "there is no prefill without a cache either.",
}
generation_passes = CallTable(
    "generation_passes",
    "the passes, as (fed, cached)",
    [
        Claim(
            "every_pass_makes_one_token",
            "The number of passes is n_new.",
            hint="Make one pass for each new token.",
            of=lambda f, *run: len([[fed, cached] for fed, cached in f(*run)]),
            what="the number of passes",
            rows=[
                call(5, 3, True).gives(3),
                call(5, 3, False).gives(3),
                call(1, 2, True).gives(2),
                call(4, 0, True).gives(0),
                call(4, 0, False).gives(0),
            ],
            slips=lambda n_prompt, n_new, use_cache: (
                {"No pass is fed the last new token.": n_new + 1}
                if n_new
                else {f"Without tokens to make, {NO_PREFILL[use_cache]}": 1}
            ),
        ),
        Claim(
            "without_a_cache_all_is_fed_again",
            "Without a cache, each pass is fed the prompt and all new tokens so far.",
            hint="Feed the prompt and all new tokens so far in each pass.",
            of=first_passes,
            rows=[call(5, 3, False).gives([(5, 0), (6, 0), (7, 0)])],
            slips=pass_slips(
                {
                    "The new tokens so far are fed again, too.": lambda n, i: [n, 0],
                    "The first pass is fed the prompt alone.": lambda n, i: [n + i + 1, 0],
                    "Those are passes with a cache.": (
                        lambda n, i: [1, n + i - 1] if i else [n, 0]
                    ),
                }
            ),
        ),
        Claim(
            "with_a_cache_one_token_is_fed",
            "With a cache, the prompt is fed once, and then one token in each pass.",
            hint="Feed the prompt in the first pass. Then feed one token, with all others cached.",
            of=first_passes,
            rows=[
                call(5, 3, True).gives([(5, 0), (1, 5), (1, 6)]),
                call(1, 2, True).gives([(1, 0), (1, 1)]),
            ],
            slips=pass_slips(
                {
                    "The tokens of earlier decode steps are in the cache, too.": (
                        lambda n, i: [1, n] if i else [n, 0]
                    ),
                    "The token that a pass is fed is not in the cache before it.": (
                        lambda n, i: [1, n + i] if i else [n, 0]
                    ),
                    "The prefill is fed the prompt alone.": (
                        lambda n, i: [1, n + i] if i else [n + 1, 0]
                    ),
                    "Those are passes without a cache.": lambda n, i: [n + i, 0],
                }
            ),
        ),
    ],
)


def flops_of(cost: Callable, *run: object) -> float:
    """The first number of a cost."""
    return cost(*run)[0]


def of_width(cost: Callable, *run: object) -> list:
    """Both numbers at a width, divided by those at 2 bytes, and whether the bytes are many."""
    (flops, moved), (flops_of_two, moved_of_two) = cost(*run), cost(*run[:4], 2)
    return [flops / flops_of_two, moved / moved_of_two, moved_of_two > 1e9]


def moved_slips(
    work: ModelWork, n_prompt: int, n_new: int, use_cache: bool, right: float
) -> dict[str, float]:
    """The moved bytes by known mistakes."""
    none, last = (work.moved_bytes(n, 1, 2) for n in (0, n_prompt + n_new - 1))
    lengths = (n_prompt, *[1] * (n_new - 1))
    of_fed = sum(work.moved_bytes(n, 1, 2) for n in lengths) if use_cache else right
    return {
        "A pass also moves keys and values of the tokens that are cached.": of_fed,
        "That is what the last pass moves. Add up all passes.": last,
        "A pass also moves keys and values of the tokens that it is fed.": (
            right - last + none if use_cache else n_new * none
        ),
    }


WORK, GEMMA_WORK = made(ModelWork.of, LLAMA), made(ModelWork.of, GEMMA)
generation_cost = CallTable(
    "generation_cost",
    "the cost",
    [
        Claim(
            "each_step_attends_to_what_is_cached",
            "The FLOPs of a decode step count its attention to all cached tokens.",
            hint="Pass n_cached of each pass to work.flops.",
            of=flops_of,
            what="the FLOPs",
            rows=[call(WORK, 1, 4, True).gives(9_887_825_920)],
            slips=lambda work, n_prompt, n_new, use_cache: {
                "Attention to the cached tokens was left out.": n_new * work.flops(1, 0, 1)
            },
        ),
        Claim(
            "prefill_needs_one_position_of_logits",
            "A prefill computes logits only for the last position.",
            hint="Compute logits for one position in each pass.",
            of=flops_of,
            what="the FLOPs",
            rows=[call(WORK, 300, 1, True).gives(590_330_904_576)],
            slips=lambda work, n_prompt, n_new, use_cache: {
                "Logits were counted for every position. Only the last one needs them.": (
                    work.flops(n_prompt, 0, n_prompt)
                )
            },
        ),
        Claim(
            "without_a_cache_every_pass_is_a_prefill",
            "Without a cache, the FLOPs are those of one prefill per new token, each one token "
            "longer.",
            hint="Use the passes of your generation_passes without a cache.",
            of=flops_of,
            what="the FLOPs",
            rows=[call(WORK, 10, 3, False).gives(65_829_736_448)],
        ),
        Claim(
            "every_pass_moves_weights_and_cache",
            "Each pass moves the weights, and keys and values of the cached and the fed tokens.",
            hint="Pass n_cached + n_fed tokens to work.moved_bytes, for each pass.",
            of=lambda f, *run: f(*run)[1],
            what="the moved bytes",
            rows=[
                call(WORK, 1, 4, True).gives(9_886_842_880),
                call(WORK, 300, 1, True).gives(2_481_459_200),
                call(WORK, 10, 3, False).gives(7_415_967_744),
                call(GEMMA_WORK, 600, 3, True).gives(6_041_303_808),
            ],
            slips=moved_slips,
        ),
        Claim(
            "the_width_of_numbers_is_an_argument",
            "The moved bytes are proportional to `width`.",
            hint="Pass width to work.moved_bytes.",
            of=of_width,
            what="FLOPs and moved bytes at that width, divided by those at 2 bytes per number, and "
            "whether these are the weights at least",
            rows=[call(WORK, 10, 3, True, 4).gives([1, 2, True])],
            slips=lambda *run: {"You used 2 bytes per number, but width differs.": [1, 1, True]},
        ),
    ],
    relative=SINGLE_PRECISION,
    parts=("generation_passes",),
)
