"""Polls of lab 7: what moving fewer bytes is worth."""

from labkit.labs.polls import Poll, Records, time_s


def _ratio(records: Records) -> float:
    point = {"n_input": 16384, "setting": "D 64"}
    plain_s, flash_s = (
        time_s(records["flash-h200"], "sdpa", model=name, **point) for name in ("plain", "flash")
    )
    return plain_s / flash_s


POLLS = (
    Poll(
        "poll-flash",
        "An H200 computes attention over 16,384 tokens with D = 64. FlashAttention does slightly "
        "more arithmetic than three plain lines of PyTorch. How many times as fast is it?",
        "times",
        _ratio,
    ),
)
