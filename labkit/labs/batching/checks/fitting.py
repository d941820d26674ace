"""Checks of `does_fit`."""

from labkit.checks.tables import CallTable, Claim, call


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
