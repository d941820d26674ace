"""Right answers to `Request`, written differently."""

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
