"""Right answers to `ngram_draft`, written differently."""

# %% windows of a tensor, as in transformers
def ngram_draft(tokens, gamma, longest=3):
    if gamma < 1 or longest < 1:
        raise ValueError("gamma and longest have to be at least 1")
    ids = torch.tensor(tokens)
    for size in range(min(longest, len(ids) - 1), 0, -1):
        windows = ids[:-1].unfold(0, size, 1)
        places = (windows == ids[-size:]).all(dim=1).nonzero().flatten()
        if len(places) > 0:
            behind = int(places[0]) + size
            return ids[behind : behind + gamma].tolist()
    return []

# %% windows of an array, which is returned
import numpy as np

def ngram_draft(tokens, gamma, longest=3):
    if min(gamma, longest) < 1:
        raise ValueError(f"{gamma}, {longest}")
    text = np.asarray(tokens)
    n = min(longest, text.size - 1)
    while n > 0:
        windows = np.lib.stride_tricks.sliding_window_view(text[:-1], n)
        hits = np.flatnonzero((windows == text[text.size - n :]).all(axis=1))
        if hits.size:
            return text[hits[0] + n :][:gamma]
        n -= 1
    return text[:0]

# %% the best place so far, token by token backwards
def ngram_draft(tokens, gamma, longest=3):
    if gamma < 1:
        raise ValueError("gamma")
    if longest < 1:
        raise ValueError("longest")
    most, place = 0, len(tokens)
    for end in range(len(tokens) - 1):
        agree = 0
        while agree < longest and agree <= end and tokens[end - agree] == tokens[-1 - agree]:
            agree += 1
        if agree > most:
            most, place = agree, end + 1
    return list(tokens[place : place + gamma])

# %% only places that end before the last tokens begin
def ngram_draft(tokens, gamma, longest=3):
    if gamma < 1 or longest < 1:
        raise ValueError("at least 1")
    for n in range(longest, 0, -1):
        for start in range(len(tokens) - 2 * n + 1):
            if all(tokens[start + i] == tokens[len(tokens) - n + i] for i in range(n)):
                return [int(token) for token in tokens[start + n :]][:gamma]
    return []
