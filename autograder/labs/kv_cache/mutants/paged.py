"""Wrong answers of lab 4, as students give them: the pages."""

from autograder.labs.mutants import Mutant

_GATHER = "gather_returns_the_tokens_in_order"
_ENOUGH = "a_sequence_takes_just_enough_blocks"
_TABLE = "the_block_table_says_where_tokens_lie"
_REWIND = "rewind_gives_emptied_blocks_back"
_OUT = "running_out_of_blocks_changes_nothing"
_OWNER = "every_block_has_one_owner_through_a_long_life"

_MISSING = "n_missing = -(-end // block_size) - len(table)"
_REFUSED = "if n_missing > self.n_free_blocks:"
_TAKE = "table = table + [self.free_blocks.pop() for _ in range(n_missing)]"
_CUT = "return keys[:, :length], values[:, :length]"
_FREED = "self.free_blocks += table[n_kept_blocks:]"
_KEPT = "self.tables[sequence_id] = table[:n_kept_blocks]"
_POPPED = "self.free_blocks += self.tables.pop(sequence_id)"

PAGED = [
    Mutant(
        "PagedCache",
        "gathers whole blocks",
        (_GATHER,),
        _CUT,
        "return keys, values",
    ),
    Mutant(
        "PagedCache",
        "gathers blocks in the order of the storage",
        (_GATHER,),
        "table, length = self.tables[sequence_id], self.lengths[sequence_id]",
        "table, length = sorted(self.tables[sequence_id]), self.lengths[sequence_id]",
    ),
    Mutant(
        "PagedCache",
        "gathers the keys twice",
        (_GATHER,),
        _CUT,
        "return keys[:, :length], keys[:, :length]",
    ),
    Mutant(
        "PagedCache",
        "a new block for every append",
        (_ENOUGH,),
        _MISSING,
        "n_missing = -(-keys.shape[1] // block_size)",
    ),
    Mutant(
        "PagedCache",
        "takes the next block as soon as one is full",
        (_ENOUGH,),
        _MISSING,
        "n_missing = max(0, end // block_size + 1 - len(table))",
    ),
    Mutant(
        "PagedCache",
        "stores everything in 32 bits",
        (_TABLE,),
        "self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)",
        "self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim)",
    ),
    Mutant(
        "PagedCache",
        "fills blocks from the back",
        (_GATHER, _TABLE, _OUT, _OWNER),
        "block, place = table[position // block_size], position % block_size",
        "block, place = table[position // block_size], -1 - position % block_size",
    ),
    Mutant(
        "PagedCache",
        "all sequences share one table",
        (_GATHER, _OUT, _OWNER),
        "table = self.tables.get(sequence_id, [])",
        "table = next(iter(self.tables.values()), [])",
    ),
    Mutant(
        "PagedCache",
        "keeps a block that a rewind has emptied",
        (_REWIND,),
        "n_kept_blocks = -(-(length - n_tokens) // self.keys.shape[2])",
        "n_kept_blocks = (length - n_tokens) // self.keys.shape[2] + 1",
    ),
    Mutant(
        "PagedCache",
        "a rewind keeps every block until the sequence is freed",
        (_REWIND,),
        "n_kept_blocks = -(-(length - n_tokens) // self.keys.shape[2])",
        "n_kept_blocks = len(self.tables[sequence_id])",
    ),
    Mutant(
        "PagedCache",
        "rewinds past the beginning",
        (_REWIND,),
        "if not 0 <= n_tokens <= length:",
        "n_tokens = min(n_tokens, length)\n        if False:",
    ),
    Mutant(
        "PagedCache",
        "frees a block too many",
        (_REWIND, _GATHER, _OWNER),
        "n_kept_blocks = -(-(length - n_tokens) // self.keys.shape[2])",
        "n_kept_blocks = (length - n_tokens) // self.keys.shape[2]",
    ),
    Mutant(
        "PagedCache",
        "a rewound block is free and still in the table",
        (_REWIND, _OWNER),
        _KEPT,
        "self.tables[sequence_id] = table",
    ),
    Mutant(
        "PagedCache",
        "a rewound block is lost",
        (_REWIND, _OWNER),
        _FREED,
        "self.free_blocks += []",
    ),
    Mutant(
        "PagedCache",
        "takes blocks until an IndexError",
        (_OUT,),
        _REFUSED,
        "if False:",
    ),
    Mutant(
        "PagedCache",
        "takes the last free blocks before it refuses",
        (_OUT,),
        _REFUSED,
        "if n_missing > self.n_free_blocks:\n"
        "            self.tables[sequence_id] = table + self.free_blocks\n"
        "            self.lengths.setdefault(sequence_id, start)\n"
        "            self.free_blocks = []",
    ),
    Mutant(
        "PagedCache",
        "leaves the last block unused",
        (_OUT,),
        _REFUSED,
        "if n_missing >= self.n_free_blocks:",
    ),
    Mutant(
        "PagedCache",
        "counts the tokens before it refuses them",
        (_OUT,),
        _REFUSED,
        "self.lengths[sequence_id] = end\n        if n_missing > self.n_free_blocks:",
    ),
    Mutant(
        "PagedCache",
        "freed blocks are lost",
        (_OWNER,),
        _POPPED,
        "self.tables.pop(sequence_id)",
    ),
    Mutant(
        "PagedCache",
        "frees only the first block",
        (_OWNER,),
        _POPPED,
        "self.free_blocks += self.tables.pop(sequence_id)[:1]",
    ),
    Mutant(
        "PagedCache",
        "frees every block twice",
        (_OWNER,),
        _POPPED,
        "self.free_blocks += self.tables.pop(sequence_id) * 2",
    ),
    Mutant(
        "PagedCache",
        "an id that is used anew starts at its old length",
        (_OWNER,),
        "del self.lengths[sequence_id]",
        "pass",
    ),
    Mutant(  # whoever only asks for tables and tokens never sees it
        "PagedCache",
        "the count of free blocks is no number",
        (_ENOUGH, _REWIND, _OUT, _OWNER),
        "return len(self.free_blocks)",
        "return __import__('fractions').Fraction(len(self.free_blocks))",
    ),
]
