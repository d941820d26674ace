"""Right answers to `Request`, written differently."""

# %% more fields, the size set at the start
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

# %% a state that is read off the tokens
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

# %% a dataclass, states of an enumeration, a count of what is left
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

# %% slots, an array for the tokens
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
