"""The KV cache: attention with a past, generation with it, and three ways to store it.

Letters in shapes: B batch, H query heads, Hkv KV heads, Q query length, P cached length, S key
length, D head_dim, V vocab; T is the tokens of one append.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import takewhile

import torch
from torch import Tensor

from labkit.models.transformer import LayerCache, Pick, Transformer, greedy, masked_attention


def attend_cached(
    queries: Tensor, keys: Tensor, values: Tensor, past: LayerCache | None
) -> tuple[Tensor, LayerCache]:
    """Attention of new tokens to the cached ones and to themselves, in one layer.

    The new tokens stand right after the cached ones. Each sees everything
    cached, itself, and the new tokens before it.

    Shapes: queries (B H Q D); keys and values of the same tokens (B Hkv Q D);
    past is None before the first step, then the pair (keys, values), each (B
    Hkv P D), that the last call returned.
    Returns: the output of the attention, (B H Q D), and the cache with the new
    tokens at its end, a pair of (B Hkv P+Q D). Each KV head is cached once, however
    many query heads share it. Nothing that was passed in is changed.
    """
    if past is not None:
        keys = torch.cat([past[0], keys], dim=2)
        values = torch.cat([past[1], values], dim=2)
    n_query, n_key = queries.shape[2], keys.shape[2]
    rows = torch.arange(n_key - n_query, n_key, device=queries.device)
    mask = torch.arange(n_key, device=queries.device) <= rows[:, None]
    return masked_attention(queries, keys, values, mask), (keys, values)


def forward_cached(
    model: Transformer, tokens: Tensor, past: list[LayerCache] | None, attend: Callable
) -> tuple[Tensor, list[LayerCache]]:
    """One step of the model: logits of the new tokens, after cached ones.

    The model offers `embed(tokens, positions)`, `blocks`, for each block
    `project(x)` and `merge(x, attended)`, and `unembed(x)`. All attention goes
    through `attend(queries, keys, values, past)`, called once per layer. Here
    past is the pair of that layer, or None. `attend` returns its output and the
    layer's cache, as `attend_cached` does.

    Shapes: tokens (B Q); past is None before the first step, then the list
    that the last step returned, with one pair (keys, values), each (B Hkv P
    D), per layer.
    Returns: logits (B Q V) and the list of what `attend` returned as the cache
    of each layer.
    """
    n_past = 0 if past is None else past[0][0].shape[2]
    positions = torch.arange(n_past, n_past + tokens.shape[1], device=tokens.device)
    x = model.embed(tokens, positions)
    cache = []
    for layer, block in enumerate(model.blocks):
        queries, keys, values = block.project(x)
        layer_past = None if past is None else past[layer]
        attended, layer_cache = attend(queries, keys, values, layer_past)
        cache.append(layer_cache)
        x = block.merge(x, attended)
    return model.unembed(x), cache


def generate(
    forward: Callable,
    tokens: Tensor,
    n_new: int,
    pick: Pick = greedy,
    n_context: int | None = None,
) -> Tensor:
    """The prompt and `n_new` tokens after it: one call of `forward` for each.

    `forward(tokens, past)` returns logits (B Q V) of the tokens fed, and the
    cache. Pass the cache unchanged to the next call as past. The first call
    has past None. `pick` maps the logits (B V) of the last token to the next
    token of each row (B,). `tokens` is not changed.

    Shapes: tokens (B, n_prompt), n_prompt at least 1; returns (B, n_prompt +
    n_new).
    Raises: ValueError, before any call, if the model would need more than
    `n_context` positions. The last new token is never fed, so n_prompt + n_new
    - 1 are needed. None means no limit.
    """
    n_prompt = tokens.shape[1]
    n_positions = n_prompt + n_new - 1
    if n_context is not None and n_positions > n_context:
        raise ValueError(f"{n_prompt} + {n_new} tokens need {n_positions} positions of {n_context}")
    fed, past = tokens, None
    for _ in range(n_new):
        logits, past = forward(fed, past)
        fed = pick(logits[:, -1])[:, None]
        tokens = torch.cat([tokens, fed], dim=1)
    return tokens


def tokens_processed(n_prompt: int, n_new: int, cached: bool) -> int:
    """Tokens that go through the model while it generates `n_new` tokens.

    Add up the tokens that are fed in all passes. If `cached`, these are the
    passes of `generate`. If not, they are those of `kit.generate_uncached`:
    each pass feeds all tokens so far. For n_new = 0 nothing is fed.
    """
    if n_new == 0:
        return 0
    if cached:
        return n_prompt + n_new - 1
    return n_new * n_prompt + n_new * (n_new - 1) // 2


class ArenaCache:
    """Keys and values of all layers, allocated once, for `capacity` tokens.

    keys, values: the arenas, two tensors (n_layers B Hkv capacity D), made in
    `__init__` and never replaced. length: how many tokens every layer holds.
    The room after them is free.

    In each step every layer appends once, in order, the same number of tokens.
    So `length` moves once per step, when the last layer has appended.
    """

    def __init__(
        self,
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """An empty cache that stores numbers as `dtype` on `device`."""
        shape = (n_layers, batch, n_kv_heads, capacity, head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros(shape, dtype=dtype, device=device)
        self.length = 0

    def append(self, layer: int, keys: Tensor, values: Tensor) -> LayerCache:
        """Write a layer's new tokens after its cached ones; return all of them.

        Shapes: keys and values (B Hkv T D), of the arenas' dtype; returns a
        pair of (B Hkv length+T D), which are views of the arenas: no cached
        number is copied.
        Raises: ValueError, with nothing changed, if the arena has no room for
        T more tokens. Choose its text, such as "cannot append 5 tokens: 60 of
        64 cached".
        """
        n_layers, capacity, n_new = self.keys.shape[0], self.keys.shape[3], keys.shape[2]
        start, end = self.length, self.length + n_new
        if end > capacity:
            raise ValueError(f"cannot append {n_new} tokens: {start} of {capacity} cached")
        self.keys[layer, :, :, start:end] = keys
        self.values[layer, :, :, start:end] = values
        if layer == n_layers - 1:
            self.length = end
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    def rewind(self, n_tokens: int) -> None:
        """Forget the last `n_tokens` by lowering `length`; the arenas stay.

        Raises: ValueError, with nothing changed, unless 0 <= n_tokens <=
        length.
        """
        if not 0 <= n_tokens <= self.length:
            raise ValueError(f"cannot rewind {n_tokens} of {self.length} cached tokens")
        self.length -= n_tokens


class RingCache:
    """The newest `window` tokens of one layer: the token at a position lies in slot
    position % window, so each new token takes the place of the one that left
    the window.

    keys, values: tensors (B Hkv window D), made in `__init__`. positions: a
    tensor (window,) of whole numbers, the position of the token in each slot,
    -1 for an empty slot. The first token that is appended has position 0.
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        window: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """An empty ring that stores numbers as `dtype`."""
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros_like(self.keys)
        self.positions = torch.full((window,), -1)

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Write a chunk, the next T tokens. If T > window, only the newest remain.

        Shapes: keys and values (B Hkv T D), of the ring's dtype, T at least 1.
        """
        window, n_new = len(self.positions), keys.shape[2]
        n_kept = min(n_new, window)
        end = int(self.positions.max()) + 1 + n_new
        positions = torch.arange(end - n_kept, end)
        slots = positions % window
        self.keys[:, :, slots] = keys[:, :, n_new - n_kept :]
        self.values[:, :, slots] = values[:, :, n_new - n_kept :]
        self.positions[slots] = positions

    def mask(self, query_positions: Tensor) -> Tensor:
        """Which slots the queries at these positions may see.

        A query at position q sees the positions q - window + 1 to q, if a slot
        holds them. An empty slot is never seen.

        Shapes: query_positions (Q,); returns (Q, window), bool.
        """
        distance = query_positions[:, None] - self.positions
        return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))


class PagedCache:
    """Keys and values of many sequences, one layer, in blocks that sequences may share.

    A sequence has ceil(length / block_size) blocks; its block table names
    them in order, so its token i lies in block block_table[i // block_size] at
    place i % block_size. A block may be in the tables of several sequences. It
    is free if it is in no table. A call for one sequence never changes
    the tokens of another.

    keys, values: the storage, two tensors (n_blocks Hkv block_size D), made in
    `__init__` and never replaced. n_free_blocks: how many blocks are free.
    """

    def __init__(
        self,
        n_blocks: int,
        block_size: int,
        n_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """Storage on `device` with all blocks free, for numbers of type `dtype`."""
        shape = (n_blocks, n_kv_heads, block_size, head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros_like(self.keys)
        self.tables: dict[int, list[int]] = {}
        self.lengths: dict[int, int] = {}
        self.free_blocks = list(range(n_blocks))
        self.n_users = [0] * n_blocks
        self.named: dict[Hashable, int] = {}

    @property
    def n_free_blocks(self) -> int:
        """Blocks that are in no block table."""
        return len(self.free_blocks)

    def append(self, sequence_id: int, keys: Tensor, values: Tensor) -> None:
        """Add T tokens at the end of a sequence. The first append creates it.

        Full blocks are never written again. If the last block has empty places
        and another sequence has this block too, copy it into a free block
        first, and write there. If no other sequence has it, it is not copied.

        Shapes: keys and values (Hkv T D), of the storage's dtype, T >= 1.
        Raises: MemoryError, with nothing changed, if fewer blocks are free
        than this needs: as many as the new blocks, and one for a copy.
        """
        block_size = self.keys.shape[2]
        start = self.lengths.get(sequence_id, 0)
        end = start + keys.shape[1]
        table = list(self.tables.get(sequence_id, []))
        n_missing = -(-end // block_size) - len(table)
        writes_last = start % block_size > 0
        n_copies = int(writes_last and self.n_users[table[-1]] > 1)
        if (n_needed := n_missing + n_copies) > self.n_free_blocks:
            raise MemoryError(f"{n_needed} blocks are needed, {self.n_free_blocks} are free")
        if n_copies:
            shared, table[-1] = table[-1], self._take()
            self.keys[table[-1]], self.values[table[-1]] = self.keys[shared], self.values[shared]
            self._leave([shared])
        elif writes_last:
            self._forget_name(table[-1])
        table += [self._take() for _ in range(n_missing)]
        positions = torch.arange(start, end, device=self.keys.device)
        blocks = torch.tensor(table, device=self.keys.device)[positions // block_size]
        self.keys[blocks, :, positions % block_size] = keys.transpose(0, 1)
        self.values[blocks, :, positions % block_size] = values.transpose(0, 1)
        self.tables[sequence_id], self.lengths[sequence_id] = table, end

    def _take(self) -> int:
        block = self.free_blocks.pop()
        self.n_users[block] = 1
        return block

    def _leave(self, blocks: Sequence[int]) -> None:
        for block in blocks:
            self.n_users[block] -= 1
            if self.n_users[block] == 0:
                self._forget_name(block)
                self.free_blocks.append(block)

    def _forget_name(self, block: int) -> None:
        self.named = {name: other for name, other in self.named.items() if other != block}

    def gather(self, sequence_id: int) -> LayerCache:
        """The sequence's keys and values in order, a pair of (Hkv length D)."""
        table, length = self.tables[sequence_id], self.lengths[sequence_id]
        keys = self.keys[table].transpose(0, 1).flatten(1, 2)
        values = self.values[table].transpose(0, 1).flatten(1, 2)
        return keys[:, :length], values[:, :length]

    def block_table(self, sequence_id: int) -> list[int]:
        """The blocks of a sequence, in the order of its tokens."""
        return list(self.tables[sequence_id])

    def rewind(self, sequence_id: int, n_tokens: int) -> None:
        """Forget a sequence's last `n_tokens`; blocks without tokens leave its table.

        They become free if no other sequence has them. After a rewind of all
        its tokens, the sequence is empty, with an empty block table.
        Raises: ValueError, with nothing changed, unless 0 <= n_tokens <=
        length.
        """
        length = self.lengths[sequence_id]
        if not 0 <= n_tokens <= length:
            raise ValueError(f"cannot rewind {n_tokens} of {length} cached tokens")
        n_kept_blocks = -(-(length - n_tokens) // self.keys.shape[2])
        table = self.tables[sequence_id]
        self._leave(table[n_kept_blocks:])
        self.tables[sequence_id] = table[:n_kept_blocks]
        self.lengths[sequence_id] = length - n_tokens

    def free(self, sequence_id: int) -> None:
        """Forget a sequence; its id can be used again. Blocks of no other become free."""
        self._leave(self.tables.pop(sequence_id))
        del self.lengths[sequence_id]

    def fork(self, sequence_id: int, new_id: int) -> None:
        """A new sequence `new_id` with the tokens of `sequence_id`, in the same blocks.

        It takes no free block. Each of the two can then grow on its own.
        Raises: ValueError, with nothing changed, if there is no sequence
        `sequence_id` (it was freed, for example), or if `new_id` exists.
        """
        if sequence_id not in self.tables:
            raise ValueError(f"there is no sequence {sequence_id} to fork")
        self._begin(new_id, self.tables[sequence_id], self.lengths[sequence_id])

    def _begin(self, new_id: int, table: Sequence[int], length: int) -> None:
        if new_id in self.tables:
            raise ValueError(f"there is a sequence {new_id} already")
        for block in table:
            self.n_users[block] += 1
        self.tables[new_id], self.lengths[new_id] = list(table), length

    def name_blocks(self, sequence_id: int, hashes: Sequence[Hashable]) -> None:
        """Name the full blocks of a sequence by these hashes, in order.

        Of two lengths, the smaller counts: blocks without a hash get no name.
        A name ends when its block becomes free, or when `append` writes into
        it (after a rewind). A hash that names another block already stays
        with that block.
        """
        n_full = self.lengths[sequence_id] // self.keys.shape[2]
        for name, block in zip(hashes, self.tables[sequence_id][:n_full], strict=False):
            self.named.setdefault(name, block)

    def begin(self, new_id: int, hashes: Sequence[Hashable]) -> int:
        """A new sequence that starts with the blocks that these hashes name; its length.

        It stops at the first hash that names no block, so it may be empty.
        Raises: ValueError, with nothing changed, if `new_id` exists.
        """
        table = [self.named[name] for name in takewhile(self.named.__contains__, hashes)]
        self._begin(new_id, table, len(table) * self.keys.shape[2])
        return self.lengths[new_id]
