"""The likely slips in lab 1's answers on what fits, each as the number that it makes."""

BATCH_OF_EIGHT = 8
A_FIFTH = "A fifth of the weights was set aside, but one pass needs nothing that grows with them."
NO_WEIGHTS = "The weights were not subtracted from the card."


def billion_slips(whole: float, room: float, overhead: float) -> dict[str, float]:
    """Billions that known mistakes give.

    whole, room: the billions of the whole card, and of what the overhead leaves. overhead: in GB.
    """
    return {
        "The overhead was not subtracted.": whole,
        "The overhead is in GB. Subtract it from the bytes of the card, not from the billions.": (
            whole - overhead
        ),
        "That is 16 bytes per parameter: the weights have 16 bits, which are 2 bytes.": room / 8,
        "That is 8 bytes per parameter: the weights have 16 bits, which are 2 bytes.": room / 4,
        "That is 4 bytes per parameter: the weights have 16 bits, which are 2 bytes.": room / 2,
        "That is 1 byte per parameter: the weights have 16 bits, which are 2 bytes.": room * 2,
        "That is half a byte per parameter: the weights have 16 bits, which are 2 bytes.": room * 4,
        A_FIFTH: room / 1.2,
    }


def token_slips(total: float, weights: float, token: float) -> dict[str, float]:
    """Tokens that known mistakes give.

    total, weights, token: bytes of the card, of the weights, and of one token in each sequence.
    """
    room = total - weights
    return {
        "The batch was left out: 8 sequences share the room.": room / (token / BATCH_OF_EIGHT),
        "40 query heads (or hidden_size) were counted. A KV head stores them once for several.": (
            room / (5 * token)
        ),
        "Each token has half of its bytes. Count 2 bytes per number, for keys and for values.": (
            room / (token / 2)
        ),
        "Each token has twice its bytes. Count 2 bytes per number, for keys and for values.": (
            room / (2 * token)
        ),
        "Bits were taken for bytes: 16 bits are 2 bytes.": room / (8 * token),
        "The layers were left out: each layer has a cache of its own.": room / (token / 40),
        "The weights are in GiB but the card is in GB: use one unit for both.": (
            (total - weights * 1e9 / 2**30) / token
        ),
        "1 byte per parameter was taken: half precision is 2 bytes.": (total - weights / 2) / token,
        "4 bytes per parameter were taken: half precision is 2 bytes.": (
            (total - 2 * weights) / token
        ),
        NO_WEIGHTS: total / token,
    }
