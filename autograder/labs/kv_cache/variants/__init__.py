"""Right answers of lab 4, written otherwise: attention, step, loop and count."""

from autograder.labs.kv_cache.variants.stores import STORES
from autograder.labs.variants import Variant

ATTEND = [
    Variant(
        "attend_cached",
        "slices the causal mask, builds new tuples",
        """\
def attend_cached(queries, keys, values, past):
    if past is None:
        return masked_attention(queries, keys, values, causal_mask(keys.shape[2])), (keys, values)
    cached_keys, cached_values = past
    all_keys = torch.cat((cached_keys, keys), dim=-2)
    all_values = torch.cat((cached_values, values), dim=-2)
    total, new = all_keys.size(2), queries.size(2)
    mask = causal_mask(total)[total - new : total, :total]
    return masked_attention(queries, all_keys, all_values, mask), (all_keys, all_values)
""",
    ),
    Variant(
        "attend_cached",
        "PyTorch's attention, repeated heads, a list for the cache",
        """\
def attend_cached(queries, keys, values, past):
    cache = [keys, values] if past is None else [
        torch.concat([old, new], 2) for old, new in zip(past, (keys, values))
    ]
    n_query, n_key = queries.shape[2], cache[0].shape[2]
    mask = torch.tril(torch.ones(n_query, n_key), diagonal=n_key - n_query).bool()
    repeats = queries.shape[1] // keys.shape[1]
    shared = [part.repeat_interleave(repeats, dim=1) for part in cache]
    attended = torch.nn.functional.scaled_dot_product_attention(queries, *shared, attn_mask=mask)
    return attended, cache
""",
    ),
    Variant(
        "attend_cached",
        "preallocates, and attends one query after the other",
        """\
def attend_cached(queries, keys, values, past):
    n_past = past[0].shape[2] if past else 0
    b, h_kv, n_new, d = keys.shape
    all_keys = torch.empty(b, h_kv, n_past + n_new, d, dtype=keys.dtype)
    all_values = torch.empty_like(all_keys)
    if past:
        all_keys[:, :, :n_past], all_values[:, :, :n_past] = past
    found = []
    for i in range(n_new):
        end = n_past + i + 1
        all_keys[:, :, end - 1] = keys[:, :, i]
        all_values[:, :, end - 1] = values[:, :, i]
        seen = torch.ones(1, end, dtype=torch.bool)
        one = queries[:, :, i : i + 1]
        found += [masked_attention(one, all_keys[:, :, :end], all_values[:, :, :end], seen)]
    return torch.cat(found, dim=2), (all_keys, all_values)
""",
    ),
    Variant(
        "attend_cached",
        "adds a mask of minus infinity, in double precision",
        """\
def attend_cached(queries, keys, values, past):
    if past is not None:
        keys, values = (torch.cat(pair, dim=2) for pair in zip(past, (keys, values)))
    hidden = torch.full((queries.shape[2], keys.shape[2]), float("-inf"))
    hidden = hidden.triu(keys.shape[2] - queries.shape[2] + 1)
    groups = queries.reshape(len(queries), keys.shape[1], -1, *queries.shape[2:]).double()
    scores = torch.einsum("bkgqd,bksd->bkgqs", groups, keys.double())
    weights = torch.softmax(scores / queries.shape[-1] ** 0.5 + hidden, dim=-1)
    attended = torch.einsum("bkgqs,bksd->bkgqd", weights, values.double())
    return attended.reshape(queries.shape).to(queries.dtype), (keys, values)
""",
    ),
]

FORWARD = [
    Variant(
        "forward_cached",
        "a list of None, zipped with the blocks",
        """\
def forward_cached(model, tokens, past, attend):
    start = past[0][0].size(-2) if past is not None else 0
    past = past or [None] * len(model.blocks)
    x = model.embed(tokens, start + torch.arange(tokens.size(1)))
    new_past = []
    for block, layer_past in zip(model.blocks, past):
        q, k, v = block.project(x)
        attended, updated = attend(q, k, v, past=layer_past)
        x = block.merge(x, attended)
        new_past += [updated]
    return model.unembed(x), new_past
""",
    ),
    Variant(
        "forward_cached",
        "replaces entries of the list it was given",
        """\
def forward_cached(model, tokens, past, attend):
    n_cached = 0
    if past is None:
        past = [None for _ in model.blocks]
    else:
        n_cached = int(past[-1][1].shape[2])
    where = torch.tensor(range(n_cached, n_cached + tokens.shape[1]), dtype=torch.int32)
    hidden = model.embed(tokens=tokens, positions=where)
    for i in range(len(model.blocks)):
        found, past[i] = attend(*model.blocks[i].project(hidden), past[i])
        hidden = model.blocks[i].merge(hidden, found)
    return model.unembed(hidden), past
""",
    ),
    Variant(
        "forward_cached",
        "one row of positions per sequence, a tuple for the cache",
        """\
def forward_cached(model, tokens, past, attend):
    batch, n_new = tokens.shape
    n_past = past[0][0].shape[2] if past else 0
    positions = torch.arange(n_past, n_past + n_new).unsqueeze(0).expand(batch, -1)

    def through(x, layers):
        if not layers:
            return x, ()
        i = layers[0]
        attended, mine = attend(*model.blocks[i].project(x), past[i] if past else None)
        x, rest = through(model.blocks[i].merge(x, attended), layers[1:])
        return x, (mine, *rest)

    x, cache = through(model.embed(tokens, positions), list(range(len(model.blocks))))
    return model.unembed(x), cache
""",
    ),
]

GENERATE = [
    Variant(
        "generate",
        "prefill first, then a loop of n_new - 1 steps",
        """\
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    if n_context is not None and tokens.shape[1] + n_new > n_context + 1:
        raise ValueError(f"{tokens.shape[1]} + {n_new} tokens do not fit in {n_context}")
    if n_new == 0:
        return tokens
    logits, cache = forward(tokens, None)
    new = [pick(logits[:, -1, :])]
    for _ in range(n_new - 1):
        logits, cache = forward(new[-1].unsqueeze(-1), cache)
        new.append(pick(logits[:, -1, :]))
    return torch.cat([tokens, torch.stack(new, dim=1)], dim=1)
""",
    ),
    Variant(
        "generate",
        "writes into a tensor of the final length, 32-bit tokens",
        """\
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    batch, n_prompt = tokens.shape
    if n_context is not None and n_prompt + n_new - 1 > n_context:
        raise ValueError("the context is too short")
    result = torch.empty(batch, n_prompt + n_new, dtype=torch.int32)
    result[:, :n_prompt] = tokens
    start, past = 0, None
    for end in range(n_prompt, n_prompt + n_new):
        logits, past = forward(tokens=result[:, start:end], past=past)
        result[:, end] = pick(logits[:, -1])
        start = end
    return result
""",
    ),
    Variant(
        "generate",
        "rows as lists",
        """\
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    rows = [list(row) for row in tokens.tolist()]
    needed = len(rows[0]) + n_new - 1
    if n_context and needed > n_context:
        raise ValueError(f"needs {needed} positions of {n_context}")
    feed, cache = rows, None
    while len(rows[0]) < needed + 1:
        logits, cache = forward(torch.tensor(feed), cache)
        feed = [[int(token)] for token in pick(logits[:, -1])]
        rows = [row + new for row, new in zip(rows, feed)]
    return torch.tensor(rows)
""",
    ),
]

COUNT = [
    Variant(
        "tokens_processed",
        "adds up the forwards",
        """\
def tokens_processed(n_prompt, n_new, cached):
    fed = [n_prompt + i if not cached else (n_prompt if i == 0 else 1) for i in range(n_new)]
    return sum(fed)
""",
    ),
    Variant(
        "tokens_processed",
        "a float from the mean length",
        """\
def tokens_processed(n_prompt, n_new, cached):
    if cached:
        return float(n_prompt + n_new - 1) if n_new > 0 else 0.0
    return n_new * (n_prompt + (n_prompt + n_new - 1)) / 2
""",
    ),
    Variant(
        "tokens_processed",
        "a tensor of lengths",
        """\
def tokens_processed(n_prompt, n_new, cached):
    lengths = torch.arange(n_new, dtype=torch.int64) + n_prompt
    if cached:
        lengths[1:] = 1
    return lengths.sum()
""",
    ),
]

VARIANTS: list[Variant] = [*ATTEND, *FORWARD, *GENERATE, *COUNT, *STORES]
