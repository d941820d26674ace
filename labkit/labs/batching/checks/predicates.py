"""Checks of the two predicates and of `does_fit`."""

from itertools import combinations

from labkit.batching import STATES
from labkit.checks.tables import CallTable, Claim, Slips, call

TO_PREFILL, TO_DECODE = STATES[:2], STATES[:3]  # what is left for each loop
SUBSETS = [list(states) for n in range(5) for states in combinations(STATES, n)]


def rows_of(wanted: tuple[str, ...], cases: list[list[str]]) -> list:
    """The rows of these states: whether any of them is wanted."""
    return [call(states).gives(any(state in wanted for state in states)) for states in cases]


def with_done(cases: list[list[str]]) -> list[list[str]]:
    """These states, and as many requests that are done."""
    return cases + [["done"] * n for n in sorted({len(states) for states in cases})]


def state_slips(wanted: tuple[str, ...]) -> Slips:
    """The sentences for predicates that count other states than these."""

    def slips(states: list[str]) -> dict[str, bool]:
        left = [state in wanted for state in states]
        return {
            "It is the other way round: it is True when nothing is left. Return the opposite.": (
                not any(left)
            ),
            "It is True only if all requests are like that. One is enough.": all(left),
            **{
                _miscounted(counted, wanted): any(state in counted for state in states)
                for counted in SUBSETS
                if set(counted) != set(wanted)
            },
        }

    return slips


def _miscounted(counted: list[str], wanted: tuple[str, ...]) -> str:
    """Which states count although they should not, and which do not although they should."""
    missing = " and ".join(f'"{state}"' for state in wanted if state not in counted)
    more = " and ".join(f'"{state}"' for state in counted if state not in wanted)
    texts = {missing: "are not counted", more: "are counted too"}
    return " ".join(f"Requests in {names} {verb}." for names, verb in texts.items() if names)


def has_any(cases: list[list[str]], *states: str) -> list[list[str]]:
    """The cases with any of these states."""
    return [case for case in cases if not set(states).isdisjoint(case)]


def has_none(cases: list[list[str]], *states: str) -> list[list[str]]:
    """The cases with none of these states."""
    return [case for case in cases if set(states).isdisjoint(case)]


def prefill_cases(cases: list[list[str]]) -> dict[str, list[list[str]]]:
    """Which of these states each claim about prefill is about."""
    decoding = has_any(has_none(cases, "queued", "prefill"), "decode")
    return {
        "one_request_before_decode_is_enough": with_done(has_any(cases, "queued", "prefill")),
        "requests_in_decode_need_no_prefill": (
            decoding + [[*states, "queued"] for states in decoding]
        ),
        "no_requests_need_no_prefill": [[], ["queued"]],
    }


def decode_cases(cases: list[list[str]]) -> dict[str, list[list[str]]]:
    """Which of these states each claim about decode is about."""
    coming = has_any(has_none(cases, "decode"), "queued", "prefill")
    return {
        "one_request_in_decode_is_enough": with_done(has_any(cases, "decode")),
        "requests_on_their_way_count_too": with_done(coming),
        "no_requests_need_no_decode": [[], ["decode"]],
    }


PREFILL, DECODE = prefill_cases(SUBSETS), decode_cases(SUBSETS)
has_prefill_requests = CallTable(
    "has_prefill_requests",
    "whether anything is left",
    [
        Claim(
            "one_request_before_decode_is_enough",
            'The result is True if any request is "queued" or in "prefill", False if all are '
            '"done".',
            hint='Return True if any state is one of the two before "decode".',
            rows=rows_of(TO_PREFILL, PREFILL["one_request_before_decode_is_enough"]),
        ),
        Claim(
            "requests_in_decode_need_no_prefill",
            'The result is False if all requests are in "decode" or "done", and True with a '
            "queued one.",
            hint="A request in decode has had its prefill: do not count it.",
            rows=rows_of(TO_PREFILL, PREFILL["requests_in_decode_need_no_prefill"]),
        ),
        Claim(
            "no_requests_need_no_prefill",
            "Without any request the result is False: the loop ends at once.",
            hint="Return False for an empty list of states.",
            gate=False,
            rows=rows_of(TO_PREFILL, PREFILL["no_requests_need_no_prefill"]),
        ),
    ],
    slips=state_slips(TO_PREFILL),
    probes=[call(states) for states in SUBSETS],
)
has_decode_requests = CallTable(
    "has_decode_requests",
    "whether anything is left",
    [
        Claim(
            "one_request_in_decode_is_enough",
            'The result is True if any request is in "decode", and False if all are "done".',
            hint="Look at all states: one request in decode is enough.",
            rows=rows_of(TO_DECODE, DECODE["one_request_in_decode_is_enough"]),
        ),
        Claim(
            "requests_on_their_way_count_too",
            'The result is True if any request is "queued" or in "prefill": it comes to decode '
            "later.",
            hint="Count requests that are queued or in prefill too: they come to decode later.",
            rows=rows_of(TO_DECODE, DECODE["requests_on_their_way_count_too"]),
        ),
        Claim(
            "no_requests_need_no_decode",
            "Without any request the result is False: the loop ends at once.",
            hint="Return False for an empty list of states.",
            gate=False,
            rows=rows_of(TO_DECODE, DECODE["no_requests_need_no_decode"]),
        ),
    ],
    slips=state_slips(TO_DECODE),
    probes=[call(states) for states in SUBSETS],
)


def fit_slips(size: int, held: list[int], capacity: int) -> dict[str, bool]:
    """The sentences for wrong sums."""
    sums = {
        "Only the largest in memory is counted.": size + max(held, default=0),
        "Equal sizes in memory are counted once.": size + sum(set(held)),
        "The requests in memory are not counted.": size,
        "The size of the new request is not counted.": sum(held),
        "It asks only whether any room is left.": sum(held) + 1,
        "A memory may be exactly full.": size + sum(held) + 1,
    }
    return {text: n <= capacity for text, n in sums.items()}


does_fit = CallTable(
    "does_fit",
    "whether it fits",
    [
        Claim(
            "the_last_token_of_room_is_used",
            "A request that fills the memory to the last token fits; one token more does not.",
            hint="Compare with <=: a memory may be full to the last token.",
            rows=[
                call(40, [60], 100).gives(True),
                call(40, [60], 99).gives(False),
            ],
        ),
        Claim(
            "everyone_in_memory_takes_its_own_room",
            "Every request in memory takes its own size, also if two sizes are equal.",
            hint="Add up the sizes of all requests in memory.",
            rows=[
                call(16, [64, 16, 32], 129).gives(True),
                call(16, [64, 16, 32], 127).gives(False),
            ],
        ),
        Claim(
            "an_empty_memory_is_not_endless",
            "With nothing in memory a request fits if it is no larger than the memory.",
            hint="Compare with the capacity also when nothing is in memory.",
            gate=False,
            why="Nothing is in memory: its whole capacity is free.",
            rows=[call(100, [], 100).gives(True), call(100, [], 99).gives(False)],
        ),
        Claim(
            "asking_reserves_nothing",
            "The caller's list of sizes is the same after the call as before it.",
            hint="Do not change the list that you are given.",
            keeps=1,
            what="the caller's list afterwards",
            rows=[
                call(16, [64, 16, 32], 0).gives(False),
                call(16, [64, 16, 32], 10**8).gives(True),
            ],
        ),
    ],
    slips=fit_slips,
    probes=[
        call(16, [64, 16, 32, 32], capacity)
        for least in (16, 80, 128, 144, 145, 160)
        for capacity in (least - 1, least, least + 1)
    ],
)
