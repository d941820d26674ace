"""Right answers to `generate`, written differently."""

# %% prefill first, then a loop of n_new - 1 steps
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    if n_context is not None and tokens.shape[1] + n_new > n_context + 1:
        raise ValueError(f"{tokens.shape[1]} + {n_new} tokens do not fit in {n_context}")
    if n_new == 0:
        return tokens
    new = [pick(forward(tokens)[:, -1, :])]
    for _ in range(n_new - 1):
        new.append(pick(forward(new[-1].unsqueeze(-1))[:, -1, :]))
    return torch.cat([tokens, torch.stack(new, dim=1)], dim=1)

# %% writes into a tensor of the final length, 32-bit tokens
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    batch, n_prompt = tokens.shape
    if n_context is not None and n_prompt + n_new - 1 > n_context:
        raise ValueError("the context is too short")
    result = torch.empty(batch, n_prompt + n_new, dtype=torch.int32)
    result[:, :n_prompt] = tokens
    start = 0
    for end in range(n_prompt, n_prompt + n_new):
        logits = forward(tokens=result[:, start:end])
        result[:, end] = pick(logits[:, -1])
        start = end
    return result

# %% rows as lists
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    rows = [list(row) for row in tokens.tolist()]
    needed = len(rows[0]) + n_new - 1
    if n_context is not None and needed > n_context:
        raise ValueError(f"needs {needed} positions of {n_context}")
    feed = rows
    while len(rows[0]) < needed + 1:
        logits = forward(torch.tensor(feed))
        feed = [[int(token)] for token in pick(logits[:, -1])]
        rows = [row + new for row, new in zip(rows, feed)]
    return torch.tensor(rows)

# %% by recursion: each call adds one token
def generate(forward, tokens, n_new, pick=greedy, n_context=None):
    if n_context is not None and len(tokens[0]) - 1 + n_new > n_context:
        raise ValueError("too long")

    def going_on(whole, fed, n_left):
        if not n_left:
            return whole
        *_, last = forward(fed).unbind(dim=1)
        new = pick(last).view(-1, 1)
        return going_on(torch.hstack((whole, new)), new, n_left - 1)

    return going_on(tokens.clone(), tokens, n_new)
