"""Right answers to `autoregressive`, written differently."""

# %% the last token is in no cache
def autoregressive(target, prompt, n_new, *, temperature=1.0, top_k=None, top_p=None, eos=None,
                   rng=None):
    check_start(prompt, n_new, target)
    new = []
    if n_new and len(prompt) > 1:
        target.feed(prompt[:-1])
    last = prompt[-1]
    for _ in range(n_new):
        probs = distribution(target.feed([last]), temperature, top_k, top_p)
        last = torch.multinomial(probs, 1, generator=rng)[0, 0].item()
        new.append(last)
        if last == eos:
            return new
    if temperature < 0:
        raise ValueError("a negative temperature")
    return new

# %% a generator of rows, Gumbel noise
def autoregressive(target, prompt, n_new, *, temperature=1.0, top_k=None, top_p=None, eos=None,
                   rng=None):
    check_start(prompt, n_new, target)
    check_sampling(temperature, top_k, top_p)

    def tokens():
        fed = prompt
        while True:
            probs = distribution(target.feed(fed)[-1], temperature, top_k, top_p)
            noise = -torch.log(-torch.log(torch.rand(probs.shape, generator=rng) + 1e-20) + 1e-20)
            token = int(torch.argmax(probs.log() + noise))
            yield token
            fed = [token]

    new = []
    if n_new == 0:
        return new
    for token in tokens():
        new.append(token)
        if len(new) == n_new or token == eos:
            break
    return new

# %% its own temperature, tensors
def autoregressive(target, prompt, n_new, *, temperature=1.0, top_k=None, top_p=None, eos=None,
                   rng=None):
    if len(prompt) == 0 or n_new < 0 or target.n_cached() != 0:
        raise ValueError("cannot start")
    check_sampling(temperature, top_k, top_p)
    text = torch.tensor(prompt)
    seen = 0
    for _ in range(n_new):
        logits = target.feed(text[seen:])[-1].float()
        seen = len(text)
        if temperature == 0:
            token = int(logits.argmax())
        else:
            probs = torch.softmax(logits / temperature, -1)
            if top_k is not None:
                probs[probs < probs.topk(min(top_k, len(probs))).values[-1]] = 0
            probs = probs / probs.sum()
            if top_p is not None:
                order = probs.argsort(descending=True)
                before = probs[order].cumsum(0) - probs[order]
                probs[order[before >= top_p]] = 0
            token = torch.multinomial(probs, 1, generator=rng).item()
        text = torch.cat([text, torch.tensor([token])])
        if token == eos:
            break
    return text[len(prompt):].tolist()
