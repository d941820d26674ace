"""The KV cache: a model with rotary positions, generation, and ways to store the cache.

Letters in shapes: B batch, H query heads, Hkv KV heads, Q query length, S key length, D head_dim,
V vocab; T is the tokens of one append.
"""

from collections.abc import Callable, Hashable, Sequence
from itertools import takewhile

import torch
from torch import Tensor

from labkit.models.transformer import LayerCache, Pick, Seen, Transformer, greedy, masked_attention


class GrowingCache:
    """Keys and values of all layers: each append joins old and new tokens.

    length: how many tokens every layer holds. In each step every layer appends
    once, in order, the same number of tokens. So `length` moves once per step,
    when the last layer has appended.
    """

    def __init__(self, n_layers: int) -> None:
        """An empty cache: no layer holds a token."""
        self.layers: list[LayerCache | None] = [None] * n_layers
        self.length = 0

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Seen:
        """A layer's cached tokens, the new ones after them, and the mask.

        A new token sees everything cached, itself, and the new tokens before it.

        Shapes: keys and values (B Hkv T D) of T new tokens. Returns keys and
        values (B Hkv length+T D), and a mask (T, length+T), bool, True where a
        new token sees a key. Each KV head is cached once, however many query
        heads share it. No tensor that was passed in or returned is changed.
        """
        past = self.layers[layer]
        if past is not None:
            keys = torch.cat([past[0], keys], dim=2)
            values = torch.cat([past[1], values], dim=2)
        self.layers[layer] = keys, values
        start, end = self.length, keys.shape[2]
        if layer == len(self.layers) - 1:
            self.length = end
        positions = torch.arange(end, device=keys.device)
        return keys, values, positions <= positions[start:, None]


def rotate(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Rotary positions: turn pairs of numbers by angles that grow with a position.

    Pair i of a head holds number i of its first half and number i of its second
    half, for i from 0 to D/2 - 1. For a token at position p its angle is w = p *
    base ** (-2i/D). The pair (a, b) becomes (a cos w - b sin w, a sin w + b cos w).

    Shapes: x (B H Q D), D even; positions (Q,), whole numbers. Returns (B H Q
    D) of x's dtype; the angles are computed in float32. x is not changed.
    Source: Su et al. (arXiv:2104.09864), equation 34, with the pairs of Llama.
    """
    half = x.shape[-1] // 2
    angles = positions.float()[:, None] * base ** (-torch.arange(half, device=x.device) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def forward_cached(
    model: Transformer,
    tokens: Tensor,
    cache,
    rotate: Callable,
) -> Tensor:
    """One step of the model: the logits of new tokens, after cached ones.

    The model offers `embed(tokens)`, `blocks`, for each block `project(x)` and
    `merge(x, attended)`, and `unembed(x)`. The cache offers `length` and
    `append(layer, keys, values)`, as `GrowingCache` does. The first new token
    has position `length`. Rotate queries and keys with `rotate(x, positions)`,
    and append the rotated keys. Values are not rotated. Then attend to what
    `append` returns, with `masked_attention`.

    Shapes: tokens (B Q); returns logits (B Q V).
    """
    start = cache.length
    positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
    x = model.embed(tokens)
    for layer, block in enumerate(model.blocks):
        queries, keys, values = block.project(x)
        seen = cache.append(layer, rotate(keys, positions), values)
        x = block.merge(x, masked_attention(rotate(queries, positions), *seen))
    return model.unembed(x)


def generate(
    forward: Callable,
    tokens: Tensor,
    n_new: int,
    pick: Pick = greedy,
    n_context: int | None = None,
) -> Tensor:
    """The prompt and `n_new` tokens after it: one call of `forward` for each.

    `forward(tokens)` returns the logits (B Q V) of the tokens fed, and caches
    them. So feed each token once. `pick` maps the logits (B V) of the last
    token to the next token of each row (B,). `tokens` is not changed.

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
    fed = tokens
    for _ in range(n_new):
        fed = pick(forward(fed)[:, -1])[:, None]
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
    `__init__` and never replaced. length: how many tokens every layer holds; it
    moves as in `GrowingCache`. The room after them is free.
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

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Seen:
        """Write new tokens after a layer's cached ones. Return all and the mask.

        Shapes: keys and values (B Hkv T D), of the arenas' dtype. Returns keys
        and values (B Hkv length+T D), which are views of the arenas: no cached
        number is copied. Returns a mask (T, length+T) as `GrowingCache` does.
        Raises: ValueError, with nothing changed, if the arena has no room for
        T more tokens.
        """
        n_layers, capacity = self.keys.shape[0], self.keys.shape[3]
        start, end = self.length, self.length + keys.shape[2]
        if end > capacity:
            raise ValueError(f"{end - start} tokens do not fit: {start} of {capacity} cached")
        self.keys[layer, :, :, start:end] = keys
        self.values[layer, :, :, start:end] = values
        if layer == n_layers - 1:
            self.length = end
        positions = torch.arange(end, device=self.keys.device)
        mask = positions <= positions[start:, None]
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end], mask

    def rewind(self, n_tokens: int) -> None:
        """Forget the last `n_tokens` by lowering `length`; the arenas stay.

        Raises: ValueError, with nothing changed, unless 0 <= n_tokens <= length.
        """
        if not 0 <= n_tokens <= self.length:
            raise ValueError(f"cannot rewind {n_tokens} of {self.length} cached tokens")
        self.length -= n_tokens


class RingCache:
    """The newest `window` tokens of all layers: position p lies in slot p % window.

    keys, values: tensors (n_layers B Hkv window D), made in `__init__`. length:
    how many tokens were appended, so the position of the next one; it moves as
    in `GrowingCache`.
    """

    def __init__(
        self,
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        window: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        """An empty ring that stores numbers as `dtype` on `device`."""
        shape = (n_layers, batch, n_kv_heads, window, head_dim)
        self.keys = torch.zeros(shape, dtype=dtype, device=device)
        self.values = torch.zeros_like(self.keys)
        self.length = 0

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Seen:
        """Write a layer's next T tokens, and return what they see, and the mask.

        A token at position q sees the positions q - window + 1 to q. Some of
        these may lose their slot to a token of the same append: return them,
        too. If T > window, only the newest tokens remain in the slots.

        Shapes: keys and values (B Hkv T D), of the ring's dtype, T at least 1.
        Returns keys and values (B Hkv S D) and a mask (T, S), bool, True where a
        new token sees a key. Choose S and the order of the keys.
        """
        n_layers, window = self.keys.shape[0], self.keys.shape[3]
        start, end = self.length, self.length + keys.shape[2]
        positions = torch.arange(max(0, start - window), end, device=keys.device)
        old, new = positions[positions < start] % window, positions[positions >= start]
        seen = [
            torch.cat([ring[layer, :, :, old], part], dim=2)
            for ring, part in ((self.keys, keys), (self.values, values))
        ]
        self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
        self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
        if layer == n_layers - 1:
            self.length = end
        distance = new[:, None] - positions
        return *seen, (distance >= 0) & (distance < window)


class PagedCache:
    """Keys and values of many sequences, one layer, in blocks that they may share.

    A sequence has ceil(length / block_size) blocks; its block table names
    them in order, so its token i lies in block block_table[i // block_size] at
    place i % block_size. A block may be in several tables. It is free if it is in
    no table. A call for one sequence never changes the tokens of another.

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
        self.n_references = [0] * n_blocks
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
        block_size, start = self.keys.shape[2], self.lengths.get(sequence_id, 0)
        end = start + keys.shape[1]
        table = list(self.tables.get(sequence_id, []))
        n_missing = -(-end // block_size) - len(table)
        writes_last = start % block_size > 0
        n_copies = int(writes_last and self.n_references[table[-1]] > 1)
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
        self.n_references[block] = 1
        return block

    def _leave(self, blocks: Sequence[int]) -> None:
        for block in blocks:
            self.n_references[block] -= 1
            if self.n_references[block] == 0:
                self._forget_name(block)
                self.free_blocks.append(block)

    def _forget_name(self, block: int) -> None:
        self.named = {name: other for name, other in self.named.items() if other != block}

    def gather(self, sequence_id: int) -> LayerCache:
        """The sequence's keys and values in order, a pair of (Hkv length D)."""
        table, length = self.tables[sequence_id], self.lengths[sequence_id]
        keys, values = self.keys[table].transpose(0, 1), self.values[table].transpose(0, 1)
        return keys.flatten(1, 2)[:, :length], values.flatten(1, 2)[:, :length]

    def block_table(self, sequence_id: int) -> list[int]:
        """The blocks of a sequence, in the order of its tokens."""
        return list(self.tables[sequence_id])

    def rewind(self, sequence_id: int, n_tokens: int) -> None:
        """Forget a sequence's last `n_tokens`; empty blocks leave its table.

        They become free if no other sequence has them. After a rewind of all
        its tokens, the sequence is empty, with an empty block table.
        Raises: ValueError, with nothing changed, unless 0 <= n_tokens <= length.
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
        """Forget a sequence. Its id, and blocks of no other, can be used again."""
        self._leave(self.tables.pop(sequence_id))
        del self.lengths[sequence_id]

    def fork(self, sequence_id: int, new_id: int) -> None:
        """A new sequence `new_id` with the tokens and blocks of `sequence_id`.

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
            self.n_references[block] += 1
        self.tables[new_id], self.lengths[new_id] = list(table), length

    def name_blocks(self, sequence_id: int, hashes: Sequence[Hashable]) -> None:
        """Name the full blocks of a sequence by these hashes, in order.

        A block without a hash gets no name, and a hash without a block is left
        out. A name ends when its block becomes free, or when `append`
        writes into it (after a rewind). A hash that names a block already
        stays with that block.
        """
        n_full = self.lengths[sequence_id] // self.keys.shape[2]
        for name, block in zip(hashes, self.tables[sequence_id][:n_full], strict=False):
            self.named.setdefault(name, block)

    def begin(self, new_id: int, hashes: Sequence[Hashable]) -> int:
        """A new sequence with the blocks that these hashes name; its length.

        It stops at the first hash that names no block, so it may be empty.
        Raises: ValueError, with nothing changed, if `new_id` exists.
        """
        table = [self.named[name] for name in takewhile(self.named.__contains__, hashes)]
        self._begin(new_id, table, len(table) * self.keys.shape[2])
        return self.lengths[new_id]
