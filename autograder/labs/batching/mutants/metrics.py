"""Wrong answers to lab 05's transfer and metrics."""

from autograder.labs.mutants import Mutant

_BYTES = "every_byte_passes_the_link"
_ONCE = "the_latency_comes_once"
_MOVING = "n_tokens * bytes_per_token / bandwidth"

TRANSFER = [
    Mutant("transfer_s", "bits", (_BYTES,), _MOVING, f"8 * {_MOVING}"),
    Mutant("transfer_s", "a bandwidth in bits", (_BYTES,), _MOVING, f"{_MOVING} / 8"),
    Mutant("transfer_s", "one token", (_BYTES,), _MOVING, "bytes_per_token / bandwidth"),
    Mutant("transfer_s", "there and back", (_BYTES,), _MOVING, f"2 * {_MOVING}"),
    Mutant("transfer_s", "whole seconds", (_BYTES,), "bytes_per_token / bandwidth",
           "bytes_per_token // bandwidth"),
    Mutant("transfer_s", "no latency", (_ONCE,), "latency_s + n_tokens", "n_tokens"),
    Mutant("transfer_s", "a latency for each token", (_ONCE,), "latency_s + n",
           "latency_s * n_tokens + n"),
    Mutant("transfer_s", "the longer of the two", (_ONCE,), f"latency_s + {_MOVING}",
           f"max(latency_s, {_MOVING})"),
    Mutant("transfer_s", "milliseconds", (_BYTES, _ONCE), f"latency_s + {_MOVING}",
           f"1e3 * (latency_s + {_MOVING})"),
    Mutant("transfer_s", "latency and bytes multiplied", (_BYTES, _ONCE), "latency_s + n",
           "latency_s * n"),
]  # fmt: skip

_TTFT = "ttft_begins_with_the_arrival"
_TPOT = "tpot_is_the_mean_after_the_first"
_SINGLE = "a_single_token_has_none_after_it"
_FURTHER = "(last_s - first_s) / n_further if n_further else 0.0"

LATENCIES = [
    Mutant("latencies", "the time of the first token", (_TTFT,), "first_s - arrival_s", "first_s"),
    Mutant("latencies", "until the last token", (_TTFT,), "first_s - arrival_s",
           "last_s - arrival_s"),
    Mutant("latencies", "the other way round", (_TTFT, _TPOT, _SINGLE), source="""\
def latencies(arrival_s, token_times_s):
    first_s, n_further = token_times_s[0], len(token_times_s) - 1
    tpot_s = (token_times_s[-1] - first_s) / n_further if n_further else 0.0
    return tpot_s, first_s - arrival_s
"""),
    Mutant("latencies", "over all tokens", (_TPOT,), "/ n_further", "/ (n_further + 1)"),
    Mutant("latencies", "since the arrival", (_TPOT,), "(last_s - first_s) / n_further",
           "(last_s - arrival_s) / (n_further + 1)"),
    Mutant("latencies", "the longest gap", (_TPOT,), _FURTHER,
           "max((b - a for a, b in zip(token_times_s, token_times_s[1:])), default=0.0)"),
    Mutant("latencies", "the last gap", (_TPOT,), "(last_s - first_s) / n_further",
           "last_s - token_times_s[-2]"),
    Mutant("latencies", "not divided", (_TPOT,), "(last_s - first_s) / n_further",
           "(last_s - first_s)"),
    Mutant("latencies", "divides by nothing", (_TTFT, _SINGLE), " if n_further else 0.0", ""),
    Mutant("latencies", "not a number", (_SINGLE,), "else 0.0", "else arrival_s"),
    Mutant("latencies", "its first token for its further ones", (_SINGLE,), "else 0.0",
           "else first_s - arrival_s"),
]  # fmt: skip

_BOTH = "both_limits_have_to_be_met"
_JUST = "a_limit_just_met_is_met"
_RATE = "good_requests_are_counted_per_second"
_NOBODY = "nobody_served_is_no_goodput"
_MET = "first <= ttft_s and further <= tpot_s"
_PER_S = "return n_good / seconds"

GOODPUT = [
    Mutant("goodput", "either limit", (_BOTH,), " and ", " or "),
    Mutant("goodput", "the first token alone", (_BOTH,), _MET, "first <= ttft_s"),
    Mutant("goodput", "the further tokens alone", (_BOTH,), _MET, "further <= tpot_s"),
    Mutant("goodput", "everybody", (_BOTH,), f"sum({_MET} for first, further in served)",
           "len(served)"),
    Mutant("goodput", "the limits added", (_BOTH,), _MET,
           "first + further <= ttft_s + tpot_s"),
    Mutant("goodput", "below the limits", (_JUST,), _MET, "first < ttft_s and further < tpot_s"),
    Mutant("goodput", "below one limit", (_JUST,), "further <= tpot_s", "further < tpot_s"),
    Mutant("goodput", "a number of requests", (_RATE,), _PER_S, "return n_good"),
    Mutant("goodput", "a part of the requests", (_BOTH, _JUST, _RATE, _NOBODY), _PER_S,
           "return n_good / len(served)"),
    Mutant("goodput", "seconds per request", (_BOTH, _JUST, _RATE, _NOBODY), _PER_S,
           "return seconds / n_good"),
    Mutant("goodput", "nobody is not a number", (_NOBODY,), _PER_S,
           'return n_good / seconds if served else float("nan")'),
    Mutant("goodput", "the first of nobody", (_NOBODY,), _PER_S,
           "return n_good * served[0][0] / served[0][0] / seconds"),
]  # fmt: skip

_OWN = "each_batch_is_padded_to_its_own_longest"
_WEIGHTS = "batches_count_by_their_tokens"
_NOTHING = "without_batches_nothing_is_wasted"
_WASTE = "1 - sum(map(sum, lengths)) / computed if computed else 0.0"
_COMPUTED = "computed = sum(max(batch) * len(batch) for batch in lengths)"

PADDING = [
    Mutant("padding_waste", "the part that is used", (_OWN, _WEIGHTS, _NOTHING), _WASTE,
           "sum(map(sum, lengths)) / computed if computed else 0.0"),
    Mutant("padding_waste", "over the true tokens", (_OWN, _WEIGHTS), _WASTE,
           "computed / sum(map(sum, lengths)) - 1 if computed else 0.0"),
    Mutant("padding_waste", "a number of tokens", (_OWN, _WEIGHTS), _WASTE,
           "computed - sum(map(sum, lengths))"),
    Mutant("padding_waste", "in percent", (_OWN, _WEIGHTS),
           "return 1 - sum(map(sum, lengths)) / computed",
           "return 100 - 100 * sum(map(sum, lengths)) / computed"),
    Mutant("padding_waste", "rounded up to a power of two", (_OWN, _WEIGHTS, _NOTHING),
           "max(batch) * len(batch)", "(1 << max(batch).bit_length()) * len(batch)"),
    Mutant("padding_waste", "all padded to the longest of all", (_OWN,), _COMPUTED,
           "computed = max((max(b) for b in lengths), default=0) * sum(map(len, lengths))"),
    Mutant("padding_waste", "a mean of parts", (_WEIGHTS,), source="""\
def padding_waste(batches):
    parts = [1 - sum(batch) / (max(batch) * len(batch)) for batch in batches]
    return sum(parts) / len(parts) if parts else 0.0
"""),
    Mutant("padding_waste", "the last batch", (_OWN, _WEIGHTS), source="""\
def padding_waste(batches):
    waste = 0.0
    for batch in batches:
        waste = 1 - sum(batch) / (max(batch) * len(batch))
    return waste
"""),
    Mutant("padding_waste", "the worst batch", (_OWN, _WEIGHTS), source="""\
def padding_waste(batches):
    return max((1 - sum(batch) / (max(batch) * len(batch)) for batch in batches), default=0.0)
"""),
    Mutant("padding_waste", "only what the shortest lacks", (_OWN,), source="""\
def padding_waste(batches):
    computed = sum(max(b) * len(b) for b in batches)
    return sum(max(b) - min(b) for b in batches) / computed if computed else 0.0
"""),
    Mutant("padding_waste", "divides by nothing", (_NOTHING,), " if computed else 0.0", ""),
    Mutant("padding_waste", "all of nothing", (_NOTHING,), "else 0.0", "else 1.0"),
]  # fmt: skip

METRICS = TRANSFER + LATENCIES + GOODPUT + PADDING
