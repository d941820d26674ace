"""Polls of lab 2: what the class guesses before it sees the sweeps."""

from labkit.labs.polls import Poll, Records, time_s


def _step_ms(records: Records) -> float:
    short_s, long_s = (time_s(records["throughput-h200"], "output_sweep", n_new=n) for n in (1, 64))
    return 1e3 * (long_s - short_s) / 63


def _ratio_of_batches(records: Records) -> float:
    alone_s, batch_s = (
        time_s(records["throughput-h200"], "forward_by_batch", batch_size=n) for n in (1, 8)
    )
    return batch_s / alone_s


POLLS = (
    Poll(
        "poll-step",
        "An H200 reads the weights that a step of Qwen3-8B needs in 3.2 ms. How long does one "
        "decode step of a batch of 8 take, in the transformers library?",
        "ms",
        _step_ms,
    ),
    Poll(
        "poll-batch",
        "An H200 runs a forward pass of Qwen3-4B over 256 tokens. How many times as long does a "
        "batch of 8 take as a batch of 1?",
        "times",
        _ratio_of_batches,
    ),
)
