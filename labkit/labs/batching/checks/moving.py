"""Checks of `transfer_s`, of the metrics, and of `padding_waste`."""

from statistics import fmean

from labkit.checks.tables import CallTable, Claim, call

SINGLE_PRECISION = 1e-5  # numbers of single precision, and differences of them


def transfer_slips(n: int, width: int, bandwidth: float, latency_s: float) -> dict[str, float]:
    """The seconds by known mistakes."""
    moving_s = n * width / bandwidth
    return {
        "The bandwidth is in bytes already, not in bits.": 8 * moving_s + latency_s,
        "The bandwidth is in bytes already. Do not divide by 8.": moving_s / 8 + latency_s,
        "That is the time of one token.": moving_s / n + latency_s,
        "Those are milliseconds.": 1e3 * (moving_s + latency_s),
        "The latency is left out.": moving_s,
        "Add it once, not for each token.": moving_s + n * latency_s,
        "The bytes begin to move after the latency. Add the two times.": max(moving_s, latency_s),
    }


transfer_s = CallTable(
    "transfer_s",
    "the seconds",
    [
        Claim(
            "every_byte_passes_the_link",
            "Without latency, the time is the bytes of all tokens divided by the bandwidth.",
            hint="Multiply tokens by bytes_per_token, and divide by the bandwidth.",
            what="the seconds without latency",
            rows=[
                call(1000, 131_072, 50e9, 0.0).gives(0.00262144),
                call(7, 98_304, 1e9, 0.0).gives(0.000688128),
            ],
        ),
        Claim(
            "the_latency_comes_once",
            "The latency is added once, whatever the number of tokens.",
            hint="Add latency_s once: there is one transfer.",
            of=lambda f, *link: f(*link) - f(*link[:3], 0.0),
            what="the seconds that are added by the latency",
            rows=[
                call(1000, 131_072, 50e9, 0.001).gives(0.001),
                call(7, 98_304, 1e9, 0.0005).gives(0.0005),
            ],
        ),
    ],
    slips=transfer_slips,
    probes=[call(1000, 131_072, 50e9, 0.01), call(7, 98_304, 1e9, 0.0005)],
    relative=SINGLE_PRECISION,
)


def ttft_slips(arrival_s: float, times_s: list[float]) -> dict[str, float]:
    """The TTFT by known mistakes."""
    first_s, *others = times_s
    return {
        "That is the time on the clock. Subtract the arrival.": first_s,
        "The order is wrong: return the TTFT first, then the TPOT.": (
            (times_s[-1] - first_s) / (len(others) or 1)
        ),
        "That is the time to the last token.": times_s[-1] - arrival_s,
    }


def tpot_slips(arrival_s: float, times_s: list[float]) -> dict[str, float]:
    """The TPOT by known mistakes."""
    further_s, since_s, n = times_s[-1] - times_s[0], times_s[-1] - arrival_s, len(times_s)
    return {
        "Do not count the first token: divide by the number of further tokens.": further_s / n,
        "That is the time of all further tokens together.": further_s,
        "That is counted from the arrival. Begin with the first token.": since_s / (n - 1),
        "That is from the arrival on, over all tokens, the first one too.": since_s / n,
    }


latencies = CallTable(
    "latencies",
    "TTFT and TPOT",
    [
        Claim(
            "ttft_begins_with_the_arrival",
            "The first number is the time from the arrival to the first token.",
            hint="Subtract arrival_s from the time of the first token.",
            of=lambda f, *times: f(*times)[0],
            what="TTFT",
            rows=[
                call(2.0, [2.5, 2.75, 3.5]).gives(0.5),
                call(1.25, [4.25, 4.5, 4.75, 6.25, 6.25]).gives(3.0),
                call(3.0, [3.75]).gives(0.75),
            ],
            slips=ttft_slips,
        ),
        Claim(
            "tpot_is_the_mean_after_the_first",
            "The second number is the mean time of each token after the first one.",
            hint="Divide the time from the first to the last token by the number of further "
            "tokens.",
            of=lambda f, *times: f(*times)[1],
            what="TPOT",
            rows=[
                call(2.0, [2.5, 2.75, 3.5]).gives(0.5),
                call(1.25, [4.25, 4.5, 4.75, 6.25, 6.25]).gives(0.5),
            ],
            slips=tpot_slips,
        ),
        Claim(
            "a_single_token_has_none_after_it",
            "With one token, the second number is 0.",
            hint="Return 0 as the second number if there is only one token.",
            gate=False,
            of=lambda f, *times: f(*times)[1],
            what="TPOT of a single token",
            why="There is no token after the first one.",
            rows=[call(3.0, [3.75]).gives(0.0)],
        ),
    ],
    relative=SINGLE_PRECISION,
)

COUNTED = {  # whom a wrong answer counts, by TTFT, TPOT and their limits
    "Only the limit of TTFT was checked.": lambda first, _, most, __: first <= most,
    "Only the limit of TPOT was checked.": lambda _, further, __, most: further <= most,
    "A request must meet both limits, not only one of them.": lambda a, b, x, y: a <= x or b <= y,
    "Requests that exactly meet a limit are not counted.": lambda a, b, x, y: a < x and b < y,
    "Requests that exactly meet the limit of TTFT are not counted.": lambda a, b, x, y: (
        a < x and b <= y
    ),
    "Requests that exactly meet the limit of TPOT are not counted.": lambda a, b, x, y: (
        a <= x and b < y
    ),
}
Served = list[tuple[float, float]]


def goodput_slips(
    served: Served, ttft_s: float, tpot_s: float, seconds: float, right: float
) -> dict[str, float]:
    """The goodput by known mistakes."""
    return {
        "That is a number of requests. Divide by the seconds.": right * seconds,
        "That is a share of the requests. Return requests per second.": (
            right * seconds / (len(served) or 1)
        ),
        **{
            text: sum(counts(*times, ttft_s, tpot_s) for times in served) / seconds
            for text, counts in COUNTED.items()
        },
    }


goodput = CallTable(
    "goodput",
    "goodput",
    [
        Claim(
            "both_limits_have_to_be_met",
            "A request counts if its TTFT and its TPOT are both within their limits.",
            hint="Count a request only if TTFT and TPOT are both within their limits.",
            rows=[
                call(
                    [(0.5, 0.25), (4, 0.25), (0.5, 3), (0.5, 2), (0.75, 0.5), (4, 4)], 1, 1, 1
                ).gives(2)
            ],
        ),
        Claim(
            "a_limit_just_met_is_met",
            "A request that exactly meets a limit has kept it.",
            hint="Compare with <=, not with <.",
            rows=[call([(0.5, 1), (1, 0.5), (1, 1), (1, 0.5)], 1, 1, 1).gives(4)],
        ),
        Claim(
            "good_requests_are_counted_per_second",
            "Goodput is the number of good requests divided by the seconds of the run.",
            hint="Divide the number of good requests by the seconds.",
            rows=[call([(0.5, 0.25), (0.25, 0.5), (0.75, 0.5)], 1, 1, 4).gives(0.75)],
        ),
        Claim(
            "nobody_served_is_no_goodput",
            "Without any request, goodput is 0.",
            hint="Return 0 if there are no requests. Do not divide by their number.",
            gate=False,
            rows=[call([], 1, 1, 4).gives(0)],
        ),
    ],
    slips=goodput_slips,
    relative=SINGLE_PRECISION,
)


def padding_slips(batches: list[list[int]]) -> dict[str, float]:
    """The waste by known mistakes."""
    parts = [1 - sum(batch) / (max(batch) * len(batch)) for batch in batches] or [0]
    together = [length for batch in batches for length in batch] or [1]
    n, n_computed = sum(together), sum(max(batch) * len(batch) for batch in batches) or 1
    return {
        "That is the number of wasted tokens, not their share.": n_computed - n,
        "That is the waste of the worst batch.": max(parts),
        "That is the mean of the batches' shares. Add up the tokens first, then divide once.": (
            fmean(parts)
        ),
        "Each batch is padded to its own longest prompt.": 1 - fmean(together) / max(together),
        "That is in percent.": 100 * (1 - n / n_computed),
        "That is the share that is used.": n / n_computed,
        "Divide by all computed tokens, not by those of the prompts.": (n_computed - n) / n,
        "That is all computed tokens divided by those of the prompts.": n_computed / n,
    }


padding_waste = CallTable(
    "padding_waste",
    "waste",
    [
        Claim(
            "each_batch_is_padded_to_its_own_longest",
            "Waste is the padding to the longest prompt of each batch, divided by all computed "
            "tokens.",
            hint="Subtract each length from the longest of its batch, and add up.",
            rows=[
                call([[10, 4, 6]]).gives(1 / 3),
                call([[10, 5, 5, 10], [20, 10]]).gives(0.25),
            ],
        ),
        Claim(
            "batches_count_by_their_tokens",
            "With several batches, the sum of the padding is divided by the sum of the tokens.",
            hint="Add up padding and computed tokens over all batches, then divide once.",
            rows=[
                call([[12, 3], [12, 12, 6, 6, 9, 12]]).gives(0.25),
                call([[12, 12, 6, 6, 9, 12], [12, 3]]).gives(0.25),
            ],
        ),
        Claim(
            "without_batches_nothing_is_wasted",
            "Without any batch, and with batches of equal lengths, the waste is 0.",
            hint="Return 0 if there are no batches, before you divide.",
            gate=False,
            absolute=1e-6,
            rows=[call([]).gives(0), call([[5, 5, 5]]).gives(0)],
        ),
    ],
    slips=padding_slips,
    relative=SINGLE_PRECISION,
)
