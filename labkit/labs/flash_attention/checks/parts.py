"""Checks of `decode_traffic`: one new token over a cache in parts."""

from collections.abc import Callable

from labkit.checks.tables import CallTable, Claim, call

BYTES = "That is in bytes. Count numbers here."


def reads_of(count: Callable, *sizes: int) -> float:
    return count(*sizes)[0]


def writes_of(count: Callable, *sizes: int) -> float:
    return count(*sizes)[1]


def more_reads(count: Callable, n_tokens: int, head_dim: int, group_size: int, n_parts: int):
    """How many more numbers are read than with one part."""
    sizes = n_tokens, head_dim, group_size
    return count(*sizes, n_parts)[0] - count(*sizes, 1)[0]


def more_writes(count: Callable, n_tokens: int, head_dim: int, group_size: int, n_parts: int):
    """How many more numbers are written than with one part."""
    sizes = n_tokens, head_dim, group_size
    return count(*sizes, n_parts)[1] - count(*sizes, 1)[1]


def slips_of_reads(n_tokens: int, head_dim: int, group_size: int, n_parts: int) -> dict[str, int]:
    cache, queries = 2 * n_tokens * head_dim, group_size * head_dim
    states = group_size * (head_dim + 2)
    return {
        "The heads of a group share the tiles: read keys and values once, not once a head.": (
            group_size * cache + queries
        ),
        "Keys and values are both read.": cache // 2 + queries,
        "Add the reads of the queries.": cache,
        "Each head of the group has its own query.": cache + head_dim,
        "With one part no state is stored, so none is read.": cache + queries + states,
        "That is the number of writes. Return reads first.": queries,
        BYTES: 2 * (cache + queries),
    }


def slips_of_writes(n_tokens: int, head_dim: int, group_size: int, n_parts: int) -> dict[str, int]:
    queries, states = group_size * head_dim, group_size * (head_dim + 2)
    return {
        "With one part no state is stored. Only the outputs are.": queries + states,
        "With one part the outputs are stored, not a state.": states,
        "Each head of the group has its own output.": head_dim,
        "The maxima are not stored with one part.": queries + group_size,
        "That is the number of reads. Return writes second.": 2 * n_tokens * head_dim + queries,
        BYTES: 2 * queries,
    }


def slips_of_more_reads(
    n_tokens: int, head_dim: int, group_size: int, n_parts: int
) -> dict[str, int]:
    cache, queries = 2 * n_tokens * head_dim, (n_parts - 1) * group_size * head_dim
    states = n_parts * group_size * (head_dim + 2)
    return {
        "At the end the states of all parts are read.": queries,
        "Each part reads the queries of the group.": states,
        "Each part reads its own keys and values only, not the whole cache.": (
            queries + states + (n_parts - 1) * cache
        ),
        "A state has a maximum and a total beside the output.": (
            queries + n_parts * group_size * head_dim
        ),
        "A state has a maximum and a total. One of them is missing.": (
            queries + n_parts * group_size * (head_dim + 1)
        ),
        "The state of the last part is read as well.": (
            queries + (n_parts - 1) * group_size * (head_dim + 2)
        ),
        "Each head of the group has its own state.": queries + n_parts * (head_dim + 2),
        BYTES: 2 * (queries + states),
    }


def slips_of_more_writes(
    n_tokens: int, head_dim: int, group_size: int, n_parts: int
) -> dict[str, int]:
    states = group_size * (head_dim + 2)
    return {
        "Each part stores its state.": 0,
        "A state has a maximum and a total beside the output.": n_parts * group_size * head_dim,
        "A state has a maximum and a total. One of them is missing.": (
            n_parts * group_size * (head_dim + 1)
        ),
        "The state of the last part is stored as well.": (n_parts - 1) * states,
        "Each head of the group has its own state.": n_parts * (head_dim + 2),
        BYTES: 2 * n_parts * states,
        "The outputs are stored once, after the merging.": (
            n_parts * states + (n_parts - 1) * group_size * head_dim
        ),
        "After the merging the outputs are stored, too.": n_parts * states - group_size * head_dim,
    }


decode_traffic = CallTable(
    "decode_traffic",
    "numbers",
    [
        Claim(
            "a_group_reads_each_key_once",
            "With one part, the queries of the group, all keys and all values are read once.",
            hint="Count the keys and values once for the group, and a query for each head.",
            of=reads_of,
            what="numbers read",
            rows=[call(100, 16, 4, 1).gives(3264), call(7, 8, 1, 1).gives(120)],
            slips=slips_of_reads,
        ),
        Claim(
            "one_part_stores_its_outputs",
            "With one part, only the outputs are stored.",
            hint="With one part there is nothing to merge.",
            of=writes_of,
            what="numbers written",
            rows=[call(100, 16, 4, 1).gives(64), call(7, 8, 1, 1).gives(8)],
            slips=slips_of_writes,
        ),
        Claim(
            "parts_read_queries_and_all_states_are_read",
            "Each part reads the queries, and at the end the states of all parts are read.",
            hint="Add the queries for each part, and D + 2 numbers for each state.",
            of=more_reads,
            what="numbers that are read beyond those with one part",
            rows=[call(100, 16, 4, 5).gives(616), call(7, 8, 1, 2).gives(28)],
            slips=slips_of_more_reads,
        ),
        Claim(
            "each_part_stores_its_state",
            "Each part stores a maximum, a total and an output for each query.",
            hint="Add D + 2 numbers for each query and part.",
            of=more_writes,
            what="numbers that are written beyond those with one part",
            rows=[call(100, 16, 4, 5).gives(360), call(7, 8, 1, 2).gives(20)],
            slips=slips_of_more_writes,
        ),
    ],
    relative=1e-12,
)
