"""Wrong answers of lab 4, as students give them: the arena."""

from autograder.labs.mutants import Mutant

_RETURNS = "append_returns_everything_cached"
_LENGTH = "length_moves_once_per_step"
_VIEWS = "views_show_the_arena_itself"
_POINTER = "rewind_moves_only_the_pointer"
_LIFE = "a_life_of_appends_and_rewinds_equals_concatenation"
_FULL = "a_full_arena_refuses_and_keeps_what_it_has"
_RANGE = "a_rewind_out_of_range_is_refused"

_VIEW = "return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]"
_LAST_LAYER = "if layer == n_layers - 1:\n            self.length = end"
_REWOUND = "self.length -= n_tokens"

_CONCATENATES = """
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        self.keys = torch.zeros(n_layers, batch, n_kv_heads, capacity, head_dim, dtype=dtype)
        self.values = torch.zeros_like(self.keys)
        empty = torch.zeros(batch, n_kv_heads, 0, head_dim, dtype=dtype)
        self.pairs = [[empty, empty] for _ in range(n_layers)]
        self.length, self.n_layers, self.capacity = 0, n_layers, capacity

    def append(self, layer, *new):
        end = self.length + new[0].shape[2]
        if end > self.capacity:
            raise ValueError("full")
        pair = self.pairs[layer]
        for i in (0, 1):
            pair[i] = torch.cat([pair[i][:, :, : self.length], new[i].to(pair[i].dtype)], 2)
        if layer == self.n_layers - 1:
            self.length = end
        return pair

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("too far")
        self.length -= n_tokens
"""

ARENA = [
    Mutant(
        "ArenaCache",
        "concatenates, and shows an arena that nothing is written to",
        (_VIEWS,),
        source=_CONCATENATES,
    ),
    Mutant(
        "ArenaCache",
        "returns copies",
        (_VIEWS,),
        _VIEW,
        "return self.keys[layer, :, :, :end].clone(), self.values[layer, :, :, :end].clone()",
    ),
    Mutant(
        "ArenaCache",
        "the values are a copy",
        (_VIEWS,),
        _VIEW,
        "return self.keys[layer, :, :, :end], self.values[layer, :, :, :end].contiguous().clone()",
    ),
    Mutant(
        "ArenaCache",
        "allocates a new arena when the old one is rewound",
        (_VIEWS,),
        _REWOUND,
        "self.length -= n_tokens\n"
        "        self.keys, self.values = self.keys.clone(), self.values.clone()",
    ),
    Mutant(
        "ArenaCache",
        "concatenates, and calls it an arena",
        (_VIEWS, _FULL),
        source="""\
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        empty = torch.zeros(batch, n_kv_heads, 0, head_dim, dtype=dtype)
        self.layers = [(empty, empty)] * n_layers
        self.length, self.capacity, self.dtype = 0, capacity, dtype

    keys = property(lambda self: torch.stack([keys for keys, _ in self.layers]))
    values = property(lambda self: torch.stack([values for _, values in self.layers]))

    def append(self, layer, keys, values):
        if self.length + keys.shape[2] > self.capacity:
            raise MemoryError("full")
        pairs = zip(self.layers[layer], (keys, values))
        joined = [torch.cat([o[:, :, : self.length], n.to(self.dtype)], 2) for o, n in pairs]
        self.layers[layer] = tuple(joined)
        self.length += keys.shape[2] * (layer == len(self.layers) - 1)
        return self.layers[layer]

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("out of range")
        self.length -= n_tokens
""",
    ),
    Mutant(
        "ArenaCache",
        "stores everything in 32 bits",
        (_RETURNS,),
        source="""\
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        self.keys = torch.zeros(n_layers, batch, n_kv_heads, capacity, head_dim)
        self.values = torch.zeros_like(self.keys)
        self.length = 0

    def append(self, layer, keys, values):
        end = self.length + keys.shape[2]
        if end > self.keys.shape[3]:
            raise ValueError("full")
        self.keys[layer, :, :, self.length : end] = keys
        self.values[layer, :, :, self.length : end] = values
        if layer == len(self.keys) - 1:
            self.length = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("out of range")
        self.length -= n_tokens
""",
    ),
    Mutant(
        "ArenaCache",
        "returns the values of layer 0",
        (_RETURNS, _LIFE),
        _VIEW,
        "return self.keys[layer, :, :, :end], self.values[0, :, :, :end]",
    ),
    Mutant(
        "ArenaCache",
        "length grows with every layer's append",
        (_LENGTH, _RETURNS, _LIFE, _VIEWS, _POINTER, _FULL, _RANGE),
        _LAST_LAYER,
        "self.length = end",
    ),
    Mutant(
        "ArenaCache",
        "length moves with the first layer",
        (_LENGTH,),
        source="""\
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        shape = (n_layers, batch, n_kv_heads, capacity, head_dim)
        self.keys, self.values = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)
        self.lengths = [0] * n_layers

    @property
    def length(self):
        return max(self.lengths)

    def append(self, layer, keys, values):
        start, end = self.lengths[layer], self.lengths[layer] + keys.shape[2]
        if end > self.keys.shape[3]:
            raise ValueError("full")
        self.keys[layer, :, :, start:end] = keys
        self.values[layer, :, :, start:end] = values
        self.lengths[layer] = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("out of range")
        self.lengths = [length - n_tokens for length in self.lengths]
""",
    ),
    Mutant(
        "ArenaCache",
        "zeroes what is rewound",
        (_POINTER,),
        _REWOUND,
        "self.length -= n_tokens\n"
        "        self.keys[:, :, :, self.length :] = 0\n"
        "        self.values[:, :, :, self.length :] = 0",
    ),
    Mutant(
        "ArenaCache",
        "rewinds to n_tokens instead of by n_tokens",
        (_POINTER, _LIFE, _RANGE, _VIEWS),
        _REWOUND,
        "self.length = n_tokens",
    ),
    Mutant(
        "ArenaCache",
        "rewind(0) forgets everything",
        (_LIFE,),
        _REWOUND,
        "self.length = len(list(range(self.length))[:-n_tokens])",
    ),
    Mutant(
        "ArenaCache",
        "returns what was rewound as well",
        (_LIFE,),
        _VIEW,
        "self.most = end = max(end, getattr(self, 'most', 0))\n"
        "        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]",
    ),
    Mutant(
        "ArenaCache",
        "lets PyTorch complain when the arena is full",
        (_FULL,),
        "if end > capacity:",
        "if False:",
    ),
    Mutant(
        "ArenaCache",
        "keeps the last place empty",
        (_FULL, _LIFE),
        "if end > capacity:",
        "if end >= capacity:",
    ),
    Mutant(
        "ArenaCache",
        "forgets everything to make room",
        (_FULL,),
        "if end > capacity:",
        "if end > capacity:\n            self.length = 0",
    ),
    Mutant(
        "ArenaCache",
        "rewinds below zero",
        (_RANGE,),
        "if not 0 <= n_tokens <= self.length:",
        "if n_tokens < 0:",
    ),
    Mutant(
        "ArenaCache",
        "rewinds forward",
        (_RANGE,),
        "if not 0 <= n_tokens <= self.length:",
        "if n_tokens > self.length:",
    ),
    Mutant(
        "ArenaCache",
        "never rewinds the first token",
        (_RANGE, _LIFE, _VIEWS),
        "if not 0 <= n_tokens <= self.length:",
        "if not 0 <= n_tokens < self.length:",
    ),
]
