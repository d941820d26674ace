"""Right answers to `speculative`, written differently."""

# %% the prompt whole at first, vectorised acceptance
def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    settings = (temperature, top_k, top_p)
    if n_new == 0:
        return []
    next_target = distribution(target.feed(prompt)[-1], *settings)
    text, pending = list(prompt), None
    while len(text) < len(prompt) + n_new and (len(text) == len(prompt) or text[-1] != eos):
        k = gamma() if callable(gamma) else gamma
        k = min(k, len(prompt) + n_new - len(text) - 1)
        tokens, rows = [], []
        for _ in range(k):
            logits = draft.feed((text + tokens)[draft.n_cached():])[-1]
            if not torch.isfinite(logits).any():
                break
            rows.append(distribution(logits, *settings))
            tokens.append(int(torch.multinomial(rows[-1], 1, generator=rng)))
        fed = tokens if pending is None else [pending] + tokens
        found = distribution(target.feed(fed), *settings) if fed else None
        if pending is None:
            first = next_target[None]
            found = first if found is None else torch.cat([first, found])
        k = len(tokens)
        rows = torch.stack([*rows, torch.zeros_like(found[0])])
        index = torch.tensor(tokens, dtype=torch.long)[:, None]
        ratios = (found[:k].gather(1, index) / rows[:k].gather(1, index))[:, 0]
        kept = (torch.rand(k, generator=rng, dtype=ratios.dtype) < ratios).long().cumprod(0)
        n = int(kept.sum())
        left = (found[n] - rows[n]).clamp(min=0)
        pending = int(torch.multinomial(left if left.sum() > 0 else found[n], 1, generator=rng))
        if blocks is not None:
            blocks.append(Block(n_drafted=k, n_accepted=n, position=len(text)))
        new = tokens[:n] + [pending]
        target.rewind(len(text) + n)
        if draft.n_cached() > len(text) + n:
            draft.rewind(len(text) + n)
        text += new[: new.index(eos) + 1] if eos in new else new
    return text[len(prompt):]

# %% one call for prompt and first block, Gumbel noise
def by_gumbel(probs, rng):
    noise = -torch.log(-torch.log(torch.rand(probs.shape, generator=rng) + 1e-20) + 1e-20)
    return torch.argmax(probs.log() + noise, dim=-1).item()


def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    new = []
    while len(new) < n_new:
        if eos is not None and eos in new:
            break
        text = list(prompt) + new
        room = n_new - len(new) - 1
        k = min(gamma() if callable(gamma) else gamma, room)
        drafted, q = [], []
        while len(drafted) != k:
            logits = draft.feed((text + drafted)[draft.n_cached():])[-1]
            if bool((logits == -torch.inf).all()):
                k = len(drafted)
                continue
            q.append(distribution(logits, temperature, top_k, top_p))
            drafted.append(by_gumbel(q[-1], rng))
        rows = target.feed((text + drafted)[target.n_cached():])[-len(drafted) - 1:]
        p = distribution(rows, temperature, top_k, top_p)
        for i in range(k + 1):
            if i == k:
                extra = by_gumbel(p[k], rng)
                break
            x = drafted[i]
            if torch.rand(1, generator=rng) >= p[i][x] / q[i][x]:
                extra = by_gumbel(residual(p[i], q[i]), rng)
                break
        if blocks is not None:
            blocks.append(Block(k, i, len(text)))
        new = new + cut_after(drafted[:i] + [extra], eos)
        for model in (target, draft):
            model.rewind(min(len(prompt) + len(new) - 1, model.n_cached()))
    return new

# %% a class that steps, exponential race, Bernoulli draws
class Speculation:
    def __init__(self, target, draft, text, settings, rng):
        self.target, self.draft, self.text = target, draft, text
        self.settings, self.rng = settings, rng

    def race(self, probs):
        return int((probs / torch.empty_like(probs).exponential_(1, generator=self.rng)).argmax())

    def propose(self, k):
        self.q, self.x = [], []
        for _ in range(k):
            fed = self.x[-1:] if self.x else self.text[self.draft.n_cached():]
            logits = self.draft.feed(fed)[-1]
            if torch.isneginf(logits).all():
                return
            self.q.append(distribution(logits, *self.settings))
            self.x.append(self.race(self.q[-1]))

    def block(self, k):
        self.propose(k)
        p = distribution(self.target.feed(self.text[-1:] + self.x), *self.settings)
        for n, x in enumerate(self.x):
            kept = torch.bernoulli((p[n, x] / self.q[n][x]).clamp(max=1.0), generator=self.rng)
            if not kept:
                return n, self.x[:n] + [self.race(residual(p[n], self.q[n]))]
        return len(self.x), self.x + [self.race(p[-1])]

    def crop(self):
        self.target.rewind(len(self.text) - 1)
        self.draft.rewind(min(len(self.text) - 1, self.draft.n_cached()))


def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    run = Speculation(target, draft, list(prompt), (temperature, top_k, top_p), rng)
    if n_new > 0 and len(prompt) > 1:
        target.feed(prompt[:-1])
        draft.feed(prompt[:-1])
    left = n_new
    while left > 0:
        wanted = gamma() if callable(gamma) else gamma
        n, new = run.block(min(wanted, left - 1))
        if blocks is not None:
            blocks.append(Block(len(run.x), n, position=len(run.text)))
        new = cut_after(new, eos)
        run.text.extend(new)
        run.crop()
        left = 0 if new[-1] == eos else left - len(new)
    return run.text[len(prompt):]

# %% the draft catches up after a full acceptance, both cold at first, other names
def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    ids = list(prompt)
    limit = len(ids) + n_new
    if n_new:
        draft_logits = draft.feed(ids)[-1] if n_new > 1 else None
        if len(ids) > 1:
            target.feed(ids[:-1])
    finished = not n_new
    while not finished:
        n = gamma() if callable(gamma) else gamma
        n = min(n, limit - len(ids) - 1)
        proposal, q = [], []
        while len(proposal) < n and draft_logits.isfinite().any():
            q.append(distribution(draft_logits, temperature, top_k, top_p))
            proposal.append(sample(q[-1], rng))
            if len(proposal) < n:
                draft_logits = draft.feed(proposal[-1:])[-1]
        p = distribution(target.feed(ids[-1:] + proposal), temperature, top_k, top_p)
        rows = torch.stack(q) if q else torch.empty(0, p.shape[-1], dtype=p.dtype)
        m, extra = verify(proposal, rows, p, rng)
        if blocks is not None:
            blocks.append(Block(len(proposal), m, position=len(ids)))
        if m == len(proposal) > 0:
            draft.feed(proposal[-1:])
        old = len(ids)
        ids += cut_after(proposal[:m] + [extra], eos)
        finished = ids[-1] == eos or len(ids) == limit
        target.rewind(len(ids) - 1)
        draft.rewind(min(draft.n_cached(), len(ids) - 1))
        if not finished and limit - len(ids) > 1:
            draft_logits = draft.feed(ids[draft.n_cached():])[-1]
    return ids[len(prompt):]

# %% draws what it may not need: a replacement for every row
def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    text, end = list(prompt), len(prompt) + n_new
    ended = n_new == 0
    if not ended and len(prompt) > 1:
        target.feed(text[:-1])
        draft.feed(text[:-1])
    while not ended:
        k = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
        drafted, q = [], []
        for _ in range(k):
            logits = draft.feed((text + drafted)[draft.n_cached():])[-1]
            if torch.isneginf(logits).all():
                break
            q.append(distribution(logits, temperature, top_k, top_p))
            drafted.append(sample(q[-1], rng))
        p = distribution(target.feed([text[-1], *drafted]), temperature, top_k, top_p)
        others = [sample(row, rng) for row in (*map(residual, p, q), p[-1])]
        uniforms = torch.rand(len(q), generator=rng)
        n = next((i for i in range(len(q)) if uniforms[i] >= p[i, drafted[i]] / q[i][drafted[i]]),
                 len(q))
        if blocks is not None:
            blocks.append(Block(len(q), n, len(text)))
        for token in drafted[:n] + [others[n]]:
            text.append(token)
            if token == eos:
                ended = True
                break
        ended = ended or len(text) == end
        target.rewind(len(text) - 1)
        draft.rewind(min(len(text) - 1, draft.n_cached()))
    return text[len(prompt):]

# %% a random number's own digits
def uniform(rng):
    return (torch.rand((), generator=rng).double() * 2**24).floor().item() / 2**24


def pick(probs, rng):
    left = uniform(rng) * float(probs.sum())
    for token, weight in enumerate(probs.tolist()):
        left -= weight
        if left < 0:
            return token
    return int(probs.argmax())


def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    text, end = list(prompt), len(prompt) + n_new
    if n_new > 0 and len(prompt) > 1:
        target.feed(text[:-1])
        draft.feed(text[:-1])
    while len(text) < end:
        k = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
        x, q = [], []
        while len(x) < k:
            logits = draft.feed((text + x)[draft.n_cached():])[-1]
            if torch.isneginf(logits).all():
                break
            q.append(distribution(logits, temperature, top_k, top_p))
            x.append(pick(q[-1], rng))
        p = distribution(target.feed([text[-1], *x]), temperature, top_k, top_p)
        n = 0
        while n < len(x) and uniform(rng) < float(p[n, x[n]] / q[n][x[n]]):
            n += 1
        row = p[n] if n == len(x) else residual(p[n], q[n])
        if blocks is not None:
            blocks.append(Block(len(x), n, len(text)))
        text += cut_after(x[:n] + [pick(row, rng)], eos)
        target.rewind(len(text) - 1)
        draft.rewind(min(draft.n_cached(), len(text) - 1))
        if text[-1] == eos:
            break
    return text[len(prompt):]

# %% lists and arrays, its own residual
import numpy as np


def draw(probs, rng):
    return torch.multinomial(probs, 1, generator=rng).item()


def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    text = np.array(prompt)
    end = len(text) + n_new
    if n_new > 0 and len(prompt) > 1:
        target.feed(text[:-1].tolist())
        draft.feed(text[:-1].tolist())
    while len(text) < end:
        wanted = gamma() if callable(gamma) else gamma
        ids, q = text.tolist(), []
        start = len(ids)
        while len(q) < wanted and len(ids) < end - 1:
            logits = draft.feed(ids[draft.n_cached():])[-1]
            if np.isneginf(logits.numpy()).all():
                break
            q.append(distribution(logits, temperature, top_k, top_p))
            ids.append(draw(q[-1], rng))
        p = distribution(target.feed(ids[start - 1:]), temperature, top_k, top_p)
        n_kept = 0
        for x, target_row, draft_row in zip(ids[start:], p, q):
            if torch.rand(1, generator=rng).item() > min(1.0, (target_row[x] / draft_row[x]).item()):
                break
            n_kept += 1
        row = p[n_kept]
        if n_kept < len(q):
            left = torch.maximum(row - q[n_kept], torch.zeros_like(row))
            row = left / left.sum() if left.sum() > 0 else row
        if blocks is not None:
            blocks.append(Block(len(q), n_kept, start))
        ids = ids[: start + n_kept] + [draw(row, rng)]
        stop = eos is not None and eos in ids[start:]
        if stop:
            ids = ids[: ids.index(eos, start) + 1]
        text = np.array(ids)
        target.rewind(len(ids) - 1)
        draft.rewind(min(len(ids) - 1, draft.n_cached()))
        if stop:
            break
    return text[len(prompt):]

# %% acceptance and a token of the residual for every row at once
def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)

    text, end = list(prompt), len(prompt) + n_new
    if n_new > 0 and len(prompt) > 1:
        target.feed(text[:-1])
        draft.feed(text[:-1])
    while len(text) < end:
        k = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
        x, q = [], []
        for _ in range(k):
            logits = draft.feed((text + x)[draft.n_cached():])[-1]
            if torch.isneginf(logits).all():
                break
            q.append(distribution(logits, temperature, top_k, top_p))
            x.append(torch.multinomial(q[-1], 1, generator=rng).item())
        p = distribution(target.feed([text[-1], *x]), temperature, top_k, top_p)
        k = len(x)
        q = torch.stack([*q, torch.zeros_like(p[-1])])
        i = torch.arange(k)
        ratio = p[i, x] / q[i, x]
        r = torch.rand(k, generator=rng, dtype=ratio.dtype)
        others = torch.multinomial(residual(p, q), 1, generator=rng)[:, 0].tolist()
        n = int((r < ratio).long().cumprod(0).sum())
        if blocks is not None:
            blocks.append(Block(k, n, len(text)))
        text += cut_after([*x[:n], others[n]], eos)
        target.rewind(len(text) - 1)
        draft.rewind(min(draft.n_cached(), len(text) - 1))
        if text[-1] == eos:
            break
    return text[len(prompt):]

# %% the first token from the prompt's own row, as gpt-fast has it
def race(probs, rng=None):
    return int((probs / torch.empty_like(probs).exponential_(1, generator=rng)).argmax())

def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)

    text, end = list(prompt), len(prompt) + n_new
    if n_new == 0:
        return []
    p = distribution(target.feed(text), temperature, top_k, top_p)[-1]
    draft.feed(text)
    text.append(race(p, rng))
    while len(text) < end and text[-1] != eos:
        k = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
        x, q = [], []
        for _ in range(k):
            logits = draft.feed((text + x)[draft.n_cached():])[-1]
            if torch.isneginf(logits).all():
                break
            q.append(distribution(logits, temperature, top_k, top_p))
            x.append(race(q[-1], rng))
        p = distribution(target.feed([text[-1], *x]), temperature, top_k, top_p)
        k = len(x)
        ratio = torch.stack([p[i, t] / q[i][t] for i, t in enumerate(x)]) if x else torch.zeros(0)
        bad = (torch.rand(ratio.shape, generator=rng, dtype=ratio.dtype) > ratio).nonzero()
        if bad.shape[0] == 0:
            n, t = k, race(p[-1], rng)
        else:
            n = bad[0].item()
            left = p[n] - q[n]
            left = torch.where(left > 0, left, 0.0)
            t = race(left / left.sum(), rng)
        if blocks is not None:
            blocks.append(Block(k, n, len(text)))
        text += cut_after([*x[:n], t], eos)
        target.rewind(len(text) - 1)
        draft.rewind(min(draft.n_cached(), len(text) - 1))
    return text[len(prompt):]

# %% the first token is a block without drafts, for which gamma is asked
def speculative(target, draft, prompt, n_new, gamma, *, temperature=1.0, top_k=None, top_p=None,
                eos=None, rng=None, blocks=None):
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    settings = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    next_gamma = gamma if callable(gamma) else lambda: gamma
    text, end = [*prompt], len(prompt) + n_new
    if len(text) > 1:
        draft.feed(text[:-1])
    while len(text) < end:
        limit = next_gamma()
        limit = min(limit, end - len(text) - 1) if len(text) > len(prompt) else 0
        drafted, draft_rows = [], []
        for _ in range(limit):
            row = draft.feed([*text, *drafted][draft.n_cached():])[-1]
            if row.max() == float("-inf"):
                break
            draft_rows.append(distribution(row, **settings))
            drafted.append(sample(draft_rows[-1], rng))
        logits = target.feed([*text, *drafted][target.n_cached():])
        target_rows = distribution(logits[-1 - len(drafted):], **settings)
        stacked = torch.empty(0, target_rows.shape[-1], dtype=target_rows.dtype)
        if draft_rows:
            stacked = torch.stack(draft_rows)
        n, token = verify(drafted, stacked, target_rows, rng)
        if blocks is not None:
            blocks.append(Block(len(drafted), n, len(text)))
        text += cut_after([*drafted[:n], token], eos)
        target.rewind(len(text) - 1)
        if draft.n_cached() >= len(text):
            draft.rewind(len(text) - 1)
        if text[-1] == eos:
            break
    return text[len(prompt):]
