"""Wrong answers of lab 4, as students give them: the ring."""

from autograder.labs.mutants import Mutant

_SLOTS = "positions_name_the_token_in_each_slot"
_DECODE = "decoding_past_the_end_keeps_the_window"
_CROSS = "a_chunk_may_cross_the_end"
_LONG = "a_long_prompt_leaves_its_newest_tokens"
_MASK = "the_mask_shows_the_window"

_DISTANCE = "return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))"
_WRITE_KEYS = "self.keys[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.keys.dtype)"
_WRITE_VALUES = "self.values[:, :, slots] = values[:, :, n_new - n_kept :].to(self.values.dtype)"
_EMPTY_SLOTS = "self.positions = torch.full((window,), -1)"

RING = [
    Mutant(
        "RingCache",
        "positions modulo the window",
        (_SLOTS, _DECODE, _CROSS, _LONG, _MASK),
        "self.positions[slots] = positions",
        "self.positions[slots] = positions % window",
    ),
    Mutant(
        "RingCache",
        "empty slots hold position 0",
        (_SLOTS,),
        source="""\
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = torch.zeros(window, dtype=torch.int64)
        self.n_seen = 0

    def append(self, keys, values):
        window = len(self.positions)
        for i in range(keys.shape[2]):
            slot = self.n_seen % window
            self.keys[:, :, slot] = keys[:, :, i]
            self.values[:, :, slot] = values[:, :, i]
            self.positions[slot] = self.n_seen
            self.n_seen += 1

    def mask(self, query_positions):
        window = len(self.positions)
        filled = torch.arange(window) < self.n_seen
        distance = query_positions[:, None] - self.positions
        return filled & (distance >= 0) & (distance < window)
""",
    ),
    Mutant(
        "RingCache",
        "wraps one slot early",
        (_SLOTS, _DECODE, _CROSS, _LONG, _MASK),
        "slots = positions % window",
        "slots = positions % (window - 1)",
    ),
    Mutant(
        "RingCache",
        "wraps one slot late for decoded values",
        (_DECODE,),
        _WRITE_VALUES,
        "value_slots = slots if n_new > 1 else (slots + 1) % window\n"
        "        self.values[:, :, value_slots] = values[:, :, n_new - n_kept :].to(\n"
        "            self.values.dtype\n"
        "        )",
    ),
    Mutant(
        "RingCache",
        "keys for values",
        (_DECODE, _CROSS, _LONG),
        _WRITE_VALUES,
        "self.values[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.values.dtype)",
    ),
    Mutant(
        "RingCache",
        "a chunk stops at the last slot",
        (_CROSS,),
        _WRITE_KEYS,
        "if 1 < n_new < window:\n"
        "            slots = torch.arange(int(slots[0]), window)[:n_new]\n"
        "            positions = positions[: len(slots)]\n"
        "            keys, values = keys[:, :, : len(slots)], values[:, :, : len(slots)]\n"
        "            n_new = n_kept = len(slots)\n"
        "        self.keys[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.keys.dtype)",
    ),
    Mutant(
        "RingCache",
        "shifts a short chunk back to fit before the end",
        (_CROSS,),
        _WRITE_KEYS,
        "if n_new < window and int(slots[0]) + n_new > window:\n"
        "            slots = torch.arange(window - n_new, window)\n"
        "        self.keys[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.keys.dtype)",
    ),
    Mutant(
        "RingCache",
        "keeps the oldest tokens of a long prompt",
        (_LONG,),
        source="""\
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = torch.full((window,), -1)

    def append(self, keys, values):
        window = len(self.positions)
        keys, values = keys[:, :, :window], values[:, :, :window]
        start = int(self.positions.max()) + 1
        positions = torch.arange(start, start + keys.shape[2])
        self.keys[:, :, positions % window] = keys.to(self.keys.dtype)
        self.values[:, :, positions % window] = values.to(self.values.dtype)
        self.positions[positions % window] = positions

    def mask(self, query_positions):
        distance = query_positions[:, None] - self.positions
        return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
""",
    ),
    Mutant(
        "RingCache",
        "a long prompt starts in slot 0",
        (_LONG,),
        "slots = positions % window",
        "slots = positions % window if n_new <= window else torch.arange(window)",
    ),
    Mutant(
        "RingCache",
        "counts only the tokens that it kept",
        (_LONG,),
        "end = int(self.positions.max()) + 1 + n_new",
        "end = int(self.positions.max()) + 1 + n_kept",
    ),
    Mutant(
        "RingCache",
        "queries see their future",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance < len(self.positions))",
    ),
    Mutant(
        "RingCache",
        "queries see empty slots",
        (_MASK,),
        _DISTANCE,
        "return (distance >= 0) & (distance < len(self.positions))",
    ),
    Mutant(
        "RingCache",
        "all that is stored counts as in the window",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance >= 0)",
    ),
    Mutant(
        "RingCache",
        "the window is one token too long",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance >= 0) & (distance <= len(self.positions))",
    ),
    Mutant(
        "RingCache",
        "a query does not see itself",
        (_MASK,),
        _DISTANCE,
        "return (self.positions >= 0) & (distance > 0) & (distance < len(self.positions))",
    ),
]
