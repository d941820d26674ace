"""Right answers to `generate`, written differently."""

# %% prefill first, then a loop of n_new - 1 steps
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

# %% writes into a tensor of the final length, 32-bit tokens
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

# %% rows as lists
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    rows = [list(row) for row in tokens.tolist()]
    needed = len(rows[0]) + n_new - 1
    if n_context is not None and needed > n_context:
        raise ValueError(f"needs {needed} positions of {n_context}")
    feed, cache = rows, None
    while len(rows[0]) < needed + 1:
        logits, cache = forward(torch.tensor(feed), cache)
        feed = [[int(token)] for token in pick(logits[:, -1])]
        rows = [row + new for row, new in zip(rows, feed)]
    return torch.tensor(rows)
