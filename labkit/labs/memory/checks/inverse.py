"""Checks of lab 1's questions asked backwards: the largest model, the longest sequence.

Both are about what is left: `largest_model` beside the overhead, `longest_sequence` beside the
weights, for the whole batch.
"""

from math import ceil

from labkit.checks.tables import CallTable, Claim, call


def largest_slips(vram: int, overhead: int = 0, width: int = 2) -> dict[str, float]:
    """The parameters that fit by known mistakes."""
    room = vram - overhead
    return {
        "The overhead was not subtracted.": vram // width,
        "The overhead is in bytes: subtract it before you divide.": (
            max(0, vram // width - overhead)
        ),
        "The overhead was added. Subtract it.": (vram + overhead) // width,
        "2 bytes per parameter were taken: divide by bytes_per_param.": room // 2,
        "That is billions of parameters: return parameters.": room // width / 1e9,
        "Bits were taken for bytes: bytes_per_param is in bytes.": room // (8 * width),
        "It was rounded up, but the last parameter does not fit. Round down.": ceil(room / width),
        "It was not rounded down to a whole number of parameters.": room / width,
        "That is the room in bytes: divide by bytes_per_param.": room,
        "The room was multiplied by bytes_per_param: divide.": room * width,
    }


largest_model = CallTable(
    "largest_model",
    "the parameters that fit",
    [
        Claim(
            "weights_fill_what_the_overhead_leaves",
            "The parameters fill the memory that the overhead leaves.",
            hint="Subtract the overhead first. Then divide by the bytes of one parameter.",
            rows=[call(24_000_000_000, 2_000_000_000, 2).gives(11_000_000_000)],
        ),
        Claim(
            "wider_parameters_leave_room_for_fewer",
            "The function uses bytes_per_param, which is not always 2.",
            hint="Divide by bytes_per_param, not by 2.",
            rows=[call(16_000_000_000, 0, 4).gives(4_000_000_000)],
        ),
        Claim(
            "a_parameter_fits_whole_or_not_at_all",
            "The result is a whole number of parameters, rounded down and exact.",
            hint="Divide integers with `//`, which rounds down. `/` is not exact.",
            rows=[call(5).gives(2), call(2**60 + 3).gives(576_460_752_303_423_489)],
            relative=0,
        ),
        Claim(
            "a_full_card_holds_no_parameters",
            "If the overhead is as large as the card, or larger, the result is 0.",
            hint="Return 0 if the room is negative, for instance with max(0, ...).",
            rows=[call(16_000_000_000, 17_000_000_000, 2).gives(0)],
        ),
        Claim(
            "refuses_parameters_without_width",
            "If bytes_per_param is 0 or negative, the function raises ValueError.",
            hint="Raise ValueError if bytes_per_param is 0 or negative.",
            what="a parameter of 0 bytes or less",
            gate=False,
            rows=[
                call(16_000_000_000, 0, 0).gives(ValueError),
                call(16_000_000_000, 0, -2).gives(ValueError),
            ],
        ),
    ],
    slips=largest_slips,
    probes=[call(10_007, 1_009, 2), call(90_001, 5_003, 4), call(70_001, 0, 1),
            call(80_021, 3_001, 3)],
)  # fmt: skip


def longest_slips(
    vram: int, model: int, token: int, batch_size: int = 1, overhead_bytes: int = 0
) -> dict[str, float]:
    """The tokens that fit by known mistakes."""
    room, step = vram - model - overhead_bytes, token * batch_size
    return {
        "That is for one sequence. Divide by batch_size too: the batch shares the room.": (
            room // token
        ),
        "It was divided by batch_size twice.": room // (token * batch_size**2),
        "The weights were not subtracted: they are on the card too.": (
            (vram - overhead_bytes) // step
        ),
        "The overhead was not subtracted.": (vram - model) // step,
        "The overhead was added. Subtract it.": (vram - model + overhead_bytes) // step,
        "The weights were subtracted once for each sequence. Subtract them once.": (
            max(0, (vram - model * batch_size - overhead_bytes) // step)
        ),
        "It was not rounded down to a whole number of tokens.": room / step,
        "It was rounded up, but the last token does not fit. Round down.": ceil(room / step),
        "That is the room in bytes: divide by batch_size * token_bytes.": room,
    }


longest_sequence = CallTable(
    "longest_sequence",
    "the tokens that fit",
    [
        Claim(
            "the_batch_shares_what_the_weights_leave",
            "All sequences of the batch share the memory that the weights leave.",
            hint="Divide the room by batch_size * token_bytes.",
            rows=[call(1_000_000, 400_000, 100, batch_size=4).gives(1_500)],
        ),
        Claim(
            "an_overhead_comes_off_first",
            "The overhead is subtracted before the tokens are counted.",
            hint="Subtract overhead_bytes from the card, like the weights.",
            rows=[call(1_000_000, 400_000, 100, overhead_bytes=100_000).gives(5_000)],
        ),
        Claim(
            "a_token_fits_whole_or_not_at_all",
            "The result is a whole number of tokens, rounded down and exact.",
            hint="Divide integers with `//`, which rounds down. `/` is not exact.",
            rows=[
                call(1_000_000, 400_001, 100).gives(5_999),
                call(2**60 + 3, 0, 2).gives(576_460_752_303_423_489),
            ],
            relative=0,
        ),
        Claim(
            "no_room_means_no_tokens",
            "If the weights fill the card, or do not fit, the result is 0.",
            hint="Return 0 if the room is negative, for instance with max(0, ...).",
            rows=[
                call(1_000_000, 1_000_000, 100).gives(0),
                call(1_000_000, 3_000_000, 100, batch_size=2).gives(0),
            ],
        ),
        Claim(
            "refuses_an_empty_batch",
            "If batch_size or token_bytes is 0 or negative, the function raises ValueError.",
            hint="Raise ValueError if batch_size or token_bytes is 0 or negative.",
            what="a batch_size or token_bytes of 0 or less",
            gate=False,
            rows=[
                call(1_000_000, 400_000, 100, batch_size=0).gives(ValueError),
                call(1_000_000, 400_000, 0).gives(ValueError),
                call(1_000_000, 400_000, -100, batch_size=-2).gives(ValueError),
            ],
        ),
    ],
    slips=longest_slips,
    probes=[
        call(1_000_003, 90_001, 11, 3, 5_003),
        call(1_000_003, 90_001, 17, 1, 20_011),
        call(1_000_003, 123_457, 23, 7, 0),
    ],
)
