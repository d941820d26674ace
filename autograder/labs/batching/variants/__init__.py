"""Right answers of lab 05, written otherwise: requests, predicates and room, metrics, cells."""

from autograder.labs.batching.mutants.answers import ratios, which
from autograder.labs.batching.variants.loops import LOOPS
from autograder.labs.batching.variants.queues import QUEUES
from autograder.labs.variants import Variant

REQUEST = [
    Variant(
        "Request",
        "more fields, the size set at the start",
        """\
class Request:
    def __init__(self, fields: dict, max_length: int, priority: int = 0):
        self.id = fields["id"]
        self.input_length = fields["input_length"]
        self.output_length = fields.get("output_length")
        self.priority = priority
        self.kv_cache = None
        self.state = "queued"
        self.tokens = []
        self.limit = max_length - self.input_length
        if self.output_length is not None and self.output_length < self.limit:
            self.limit = self.output_length
        self.limit = max(0, self.limit)
        self.size = self.input_length + self.limit

    def add_token(self, token, eos):
        if self.state == "done":
            return
        self.tokens += [token]
        if len(self.tokens) == self.limit or token == eos:
            self.state = "done"
""",
    ),
    Variant(
        "Request",
        "a state that is read off the tokens",
        """\
class Request:
    def __init__(self, fields, max_length):
        self.id, self.input_length, wanted = (
            fields[key] for key in ("id", "input_length", "output_length")
        )
        self.limit = max_length - self.input_length
        if wanted is not None:
            self.limit = sorted([self.limit, wanted])[0]
        self.tokens, self.has_ended, self.server = [], False, "queued"

    @property
    def state(self):
        if self.has_ended or self.tokens and len(self.tokens) >= self.limit:
            return "done"
        return self.server

    @state.setter
    def state(self, server):
        self.server = server

    @property
    def size(self):
        return self.limit + self.input_length

    def add_token(self, token, eos):
        if self.state == "done":
            raise ValueError(f"request {self.id} is done")
        self.tokens.append(token)
        self.has_ended = token == eos
""",
    ),
    Variant(
        "Request",
        "a dataclass, states of an enumeration, a count of what is left",
        """\
from dataclasses import dataclass, field
from enum import Enum


class State(str, Enum):
    QUEUED = "queued"
    PREFILL = "prefill"
    DECODE = "decode"
    DONE = "done"


@dataclass
class _Request:
    id: int
    input_length: int
    limit: int
    state: State = State.QUEUED
    tokens: list = field(default_factory=list)

    def __post_init__(self):
        self.n_left = self.limit
        self.size = self.input_length + max(self.limit, 0)

    def add_token(self, token, eos):
        self.tokens = [*self.tokens, token]
        self.n_left = 0 if token == eos else self.n_left - 1
        if self.n_left <= 0:
            self.state = State.DONE
        elif self.state == State.QUEUED:
            self.state = State.PREFILL


def Request(fields, max_length):
    wanted = fields["output_length"]
    limits = [max_length - fields["input_length"], *([] if wanted is None else [wanted])]
    return _Request(fields["id"], fields["input_length"], min(limits))
""",
    ),
    Variant(
        "Request",
        "slots, an array for the tokens",
        """\
import numpy as np


class Request:
    __slots__ = ("id", "input_length", "limit", "state", "tokens")

    def __init__(self, fields, max_length):
        self.id = fields["id"]
        self.input_length = np.int64(fields["input_length"])
        wanted = fields["output_length"]
        room = max_length - self.input_length
        self.limit = np.minimum(room, room if wanted is None else wanted)
        self.state = "queued"
        self.tokens = np.zeros(0, dtype=np.int64)

    @property
    def size(self):
        return self.input_length + self.limit

    def add_token(self, token, eos):
        self.tokens = np.append(self.tokens, token)
        if token == eos or self.tokens.size >= self.limit:
            self.state = "done"
""",
    ),
]

PREDICATES = [
    Variant(
        "has_prefill_requests",
        "two searches",
        """\
def has_prefill_requests(states):
    return "queued" in states or "prefill" in states
""",
    ),
    Variant(
        "has_prefill_requests",
        "the handout's words, with one negation",
        """\
def has_prefill_requests(states):
    reached = ("decode", "done")
    return not all(state in reached for state in states)
""",
    ),
    Variant(
        "has_prefill_requests",
        "a difference of sets",
        """\
def has_prefill_requests(states):
    return bool(set(states) - {"decode", "done"})
""",
    ),
    Variant(
        "has_prefill_requests",
        "NumPy's truth value",
        """\
import numpy as np

def has_prefill_requests(states):
    return np.isin(np.array(list(states), dtype=str), ["queued", "prefill"]).any()
""",
    ),
    Variant(
        "has_decode_requests",
        "a loop",
        """\
def has_decode_requests(states):
    for state in states:
        if state != "done":
            return True
    return False
""",
    ),
    Variant(
        "has_decode_requests",
        "counted",
        """\
def has_decode_requests(states):
    states = list(states)
    return states.count("done") < len(states)
""",
    ),
    Variant(
        "has_decode_requests",
        "through the other one",
        """\
def has_decode_requests(states):
    return has_prefill_requests(states) or "decode" in states
""",
    ),
    Variant(
        "has_decode_requests",
        "PyTorch's truth value",
        """\
import torch

def has_decode_requests(states):
    return torch.tensor([state != "done" for state in states], dtype=torch.bool).any()
""",
    ),
    Variant(
        "does_fit",
        "what is left",
        """\
def does_fit(size, in_memory, capacity):
    for other in in_memory:
        capacity -= other
    return capacity >= size
""",
    ),
    Variant(
        "does_fit",
        "NumPy, single precision",
        """\
import numpy as np

def does_fit(size, in_memory, capacity):
    return np.float32(size) + np.array(in_memory, dtype=np.float32).sum() <= capacity
""",
    ),
    Variant(
        "does_fit",
        "a sum that starts with it, not too much",
        """\
def does_fit(size, in_memory, capacity):
    return not sum(in_memory, start=size) > capacity
""",
    ),
]

METRICS = [
    Variant(
        "transfer_s",
        "tokens per second first",
        """\
def transfer_s(n_tokens, bytes_per_token, bandwidth, latency_s):
    tokens_per_s = bandwidth / bytes_per_token
    return n_tokens / tokens_per_s + latency_s
""",
    ),
    Variant(
        "transfer_s",
        "single precision",
        """\
import numpy as np

def transfer_s(n_tokens, bytes_per_token, bandwidth, latency_s):
    n_bytes = np.float32(n_tokens) * np.float32(bytes_per_token)
    return np.float32(latency_s) + n_bytes / np.float32(bandwidth)
""",
    ),
    Variant(
        "transfer_s",
        "a tensor",
        """\
def transfer_s(n_tokens, bytes_per_token, bandwidth, latency_s):
    import torch

    return torch.tensor([latency_s, n_tokens * bytes_per_token / bandwidth]).sum()
""",
    ),
    Variant(
        "latencies",
        "the mean of the gaps",
        """\
def latencies(arrival_s, token_times_s):
    gaps = [b - a for a, b in zip(token_times_s, token_times_s[1:])]
    return [token_times_s[0] - arrival_s, sum(gaps) / len(gaps) if gaps else 0]
""",
    ),
    Variant(
        "latencies",
        "single precision, an array",
        """\
import numpy as np

def latencies(arrival_s, token_times_s):
    times = np.array([arrival_s, *token_times_s], dtype=np.float32)
    gaps = np.diff(times)
    return np.array([gaps[0], gaps[1:].mean() if len(gaps) > 1 else 0], dtype=np.float32)
""",
    ),
    Variant(
        "latencies",
        "PyTorch, a named tuple",
        """\
from collections import namedtuple

import torch

Latencies = namedtuple("Latencies", "ttft_s tpot_s")

def latencies(arrival_s, token_times_s):
    first, *further = torch.tensor(token_times_s)
    total = further[-1] - first if further else torch.tensor(0.0)
    return Latencies(first - arrival_s, total / max(1, len(further)))
""",
    ),
    Variant(
        "goodput",
        "misses left out",
        """\
def goodput(served, ttft_s, tpot_s, seconds):
    missed = [pair for pair in served if pair[0] > ttft_s or pair[1] > tpot_s]
    return (len(served) - len(missed)) / seconds
""",
    ),
    Variant(
        "goodput",
        "NumPy, single precision",
        """\
import numpy as np

def goodput(served, ttft_s, tpot_s, seconds):
    times = np.array(served, dtype=np.float32).reshape(-1, 2)
    good = (times <= np.array([ttft_s, tpot_s], dtype=np.float32)).all(axis=1)
    return np.float32(good.sum()) / np.float32(seconds)
""",
    ),
    Variant(
        "goodput",
        "added up by rate",
        """\
def goodput(served, ttft_s, tpot_s, seconds):
    rate = 0.0
    for ttft, tpot in served:
        if max(ttft / ttft_s, tpot / tpot_s) <= 1:
            rate += 1 / seconds
    return rate
""",
    ),
    Variant(
        "padding_waste",
        "padding counted, token by token",
        """\
def padding_waste(batches):
    padding = computed = 0
    for batch in batches:
        longest = max(batch)
        padding += sum(longest - length for length in batch)
        computed += longest * len(batch)
    if computed == 0:
        return 0
    return padding / computed
""",
    ),
    Variant(
        "padding_waste",
        "a mean of parts, weighted; single precision",
        """\
import numpy as np

def padding_waste(batches):
    arrays = [np.array(batch, dtype=np.float32) for batch in batches]
    if not arrays:
        return np.float32(0)
    weights = np.array([a.max() * a.size for a in arrays], dtype=np.float32)
    parts = np.array([np.float32(1) - a.mean() / a.max() for a in arrays], dtype=np.float32)
    return (parts * weights).sum() / weights.sum()
""",
    ),
    Variant(
        "padding_waste",
        "rectangles of PyTorch, filled with nothing",
        """\
import torch

def padding_waste(batches):
    true = total = 0
    for batch in batches:
        rows = [torch.ones(length) for length in batch]
        rectangle = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        true += rectangle.sum()
        total += rectangle.numel()
    return 1 - true / total if total else torch.tensor(0.0)
""",
    ),
]

ANSWERS = [
    Variant("which_batching", "as they are", which()),
    Variant("which_batching", "in capitals", which().replace("'static'", "'Static'")),
    Variant("which_batching", "spaces, and one entry more", which(A=" static ", G="static")),
    Variant("predicted_ratio", "three digits", ratios(1.0, 2.72, 4.06)),
    Variant("predicted_ratio", "as in the facts that were simulated", ratios(1, 2.7, 4.0)),
    Variant("predicted_ratio", "ln B + 0.577", ratios(1.0, 2.66, 4.04)),
    Variant(
        "predicted_ratio",
        "computed",
        "H = lambda n: sum(1 / i for i in range(1, n + 1))\n"
        + ratios("H1", "H8", "H32")
        .replace("'H1'", "1")
        .replace("'H8'", "H(8)")
        .replace("'H32'", "H(32)"),
    ),
]

VARIANTS = [*REQUEST, *PREDICATES, *QUEUES, *LOOPS, *METRICS, *ANSWERS]
