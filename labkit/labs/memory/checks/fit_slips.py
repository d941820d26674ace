"""The likely slips in lab 1's answers on what fits, each as the number that it makes."""

from collections.abc import Callable, Mapping

BATCH_OF_EIGHT = 8
A_FIFTH = "A fifth of the weights was set aside, but one pass needs nothing that grows with them."
# Slips: billions from those of the whole card, those beside the overhead, and the overhead in GB.
BILLION_SLIPS: Mapping[str, Callable[[float, float, float], float]] = {
    "The overhead was not subtracted.": lambda whole, room, overhead: whole,
    "The overhead is in GB. Subtract it from the bytes of the card, not from the billions.": (
        lambda whole, room, overhead: whole - overhead
    ),
    "That is 16 bytes per parameter, as in training. 16 bits are 2 bytes.": (
        lambda whole, room, overhead: room / 8
    ),
    "That is 8 bytes per parameter: 16 bits are 2 bytes.": lambda whole, room, overhead: room / 4,
    "That is 4 bytes per parameter: the weights have 16 bits, which are 2 bytes.": (
        lambda whole, room, overhead: room / 2
    ),
    "That is 1 byte per parameter: the weights have 16 bits, which are 2 bytes.": (
        lambda whole, room, overhead: room * 2
    ),
    "That is half a byte per parameter: the weights have 16 bits, which are 2 bytes.": (
        lambda whole, room, overhead: room * 4
    ),
    A_FIFTH: lambda whole, room, overhead: room / 1.2,
}

NO_WEIGHTS = "The weights were not subtracted from the card."
# Slips: tokens from the bytes of the card, of the weights, and of one token in each sequence.
TOKEN_SLIPS: Mapping[str, Callable[[float, float, float], float]] = {
    "The batch was left out: 8 sequences share the room.": (
        lambda total, weights, token: (total - weights) / (token / BATCH_OF_EIGHT)
    ),
    "40 query heads (or d_model) were counted. Keys and values are stored once per KV head.": (
        lambda total, weights, token: (total - weights) / (5 * token)
    ),
    "Only half of the cache was counted: both keys and values are stored.": (
        lambda total, weights, token: (total - weights) / (token / 2)
    ),
    "4 bytes per stored number were taken: 16 bits are 2 bytes.": (
        lambda total, weights, token: (total - weights) / (2 * token)
    ),
    "Bits were taken for bytes: 16 bits are 2 bytes.": (
        lambda total, weights, token: (total - weights) / (8 * token)
    ),
    "The layers were left out: each layer has a cache of its own.": (
        lambda total, weights, token: (total - weights) / (token / 40)
    ),
    "The weights are in GiB but the card is in GB: use one unit for both.": (
        lambda total, weights, token: (total - weights * 1e9 / 2**30) / token
    ),
    "1 byte per parameter was taken: half precision is 2 bytes.": (
        lambda total, weights, token: (total - weights / 2) / token
    ),
    "4 bytes per parameter were taken: half precision is 2 bytes.": (
        lambda total, weights, token: (total - 2 * weights) / token
    ),
    NO_WEIGHTS: lambda total, weights, token: total / token,
}
