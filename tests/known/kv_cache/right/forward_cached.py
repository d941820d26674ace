"""Right answers to `forward_cached`, written differently."""

# %% rotates queries and keys in one call
def forward_cached(model, tokens, cache, rotate):
    where = int(cache.length) + torch.arange(tokens.size(1))
    x = model.embed(tokens)
    for i in range(len(model.blocks)):
        q, k, v = model.blocks[i].project(x)
        turned = rotate(torch.cat([q, k], dim=1), where)
        q, k = turned[:, : q.size(1)], turned[:, q.size(1) :]
        keys, values, mask = cache.append(i, k, v)
        x = model.blocks[i].merge(x, masked_attention(q, keys, values, mask))
    return model.unembed(x)

# %% rotates the queries after the append, positions as a list of numbers
def forward_cached(model, tokens, cache, rotate):
    first = cache.length
    positions = torch.tensor([first + i for i in range(tokens.shape[1])], dtype=torch.int32)
    hidden = model.embed(tokens=tokens)
    for layer, block in enumerate(model.blocks):
        queries, new_keys, new_values = block.project(x=hidden)
        keys, values, mask = cache.append(
            layer=layer, keys=rotate(x=new_keys, positions=positions), values=new_values
        )
        found = masked_attention(rotate(queries, positions), keys, values, mask)
        hidden = block.merge(x=hidden, attended=found)
    return model.unembed(hidden)

# %% PyTorch's attention with repeated heads, layers by recursion
def forward_cached(model, tokens, cache, rotate):
    start = cache.length
    positions = torch.arange(tokens.shape[1]).add(start)

    def through(x, layer):
        if layer == len(model.blocks):
            return model.unembed(x)
        q, k, v = model.blocks[layer].project(x)
        q, k = (rotate(part, positions) for part in (q, k))
        *seen, mask = cache.append(layer, k, v)
        seen = [part.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for part in seen]
        found = torch.nn.functional.scaled_dot_product_attention(q, *seen, attn_mask=mask)
        return through(model.blocks[layer].merge(x, found), layer + 1)

    return through(model.embed(tokens), 0)

# %% positions by cumulative sum, attention one query after the other
def forward_cached(model, tokens, cache, rotate):
    positions = torch.ones_like(tokens[0]).cumsum(0) - 1 + cache.length
    x = model.embed(tokens)
    for layer, block in zip(range(10**6), model.blocks):
        q, k, v = block.project(x)
        k, q = rotate(k, positions), rotate(q, positions)
        keys, values, mask = cache.append(layer, k, v)
        rows = [
            masked_attention(q[:, :, i : i + 1], keys[:, :, row], values[:, :, row], row[row][None])
            for i, row in enumerate(mask)
        ]
        x = block.merge(x, torch.cat(rows, dim=2))
    return model.unembed(x)
