"""Right answers to `verify_tree`, written differently."""

# %% recursive, with lists of children
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)

    def descend(node):
        left = target_probs[node]
        for child in [i for i, parent in enumerate(parents) if parent == node]:
            ratio = left[tokens[child]] / draft_probs[child, tokens[child]]
            if torch.rand((), generator=rng) < ratio:
                path, token = descend(child)
                return [node, *path], token
            left = residual(left, draft_probs[child])
        return [node], sample(left, rng)

    return descend(0)

# %% a loop over a dictionary of children, copied rows, an inverse CDF
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    children = {node: [] for node in range(len(tokens))}
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    node, path = 0, [0]
    while True:
        probs, found = target_probs[node].clone(), None
        for child in children[node]:
            x, q = tokens[child], draft_probs[child].clone()
            if torch.rand((), generator=rng) * q[x] < probs[x]:
                found = child
                break
            probs -= q
            probs.clamp_(min=0)
            probs /= probs.sum()
        if found is None:
            break
        node = found
        path.append(node)
    sums = probs.cumsum(-1)
    u = torch.rand((), generator=rng) * sums[-1]
    token = next((i for i in range(len(sums)) if bool(u < sums[i])), len(sums) - 1)
    return path, token

# %% all siblings of a node at once
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    index, parents = torch.tensor(tokens), torch.tensor(parents)
    path = [0]
    while True:
        children = (parents == path[-1]).nonzero().flatten()
        lefts = [target_probs[path[-1]]]
        for child in children:
            lefts.append(residual(lefts[-1], draft_probs[child]))
        lefts = torch.stack(lefts)
        x = index[children].unsqueeze(1)
        ratios = lefts[:-1].gather(1, x) / draft_probs[children].gather(1, x)
        accepted = torch.rand(len(children), generator=rng) < ratios.flatten()
        if not accepted.any():
            return path, int(torch.multinomial(lefts[-1], 1, generator=rng))
        path.append(int(children[accepted.int().argmax()]))

# %% in logs, uniforms in advance, an exponential race
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    log_u = torch.rand(len(tokens), generator=rng, dtype=torch.float64).log()
    node, left, child = 0, target_probs[0], 1
    path = [0]
    while child < len(tokens):
        if parents[child] == node:
            x = tokens[child]
            if log_u[child] < left[x].log() - draft_probs[child][x].log():
                node, left = child, target_probs[child]
                path.append(node)
            else:
                left = residual(left, draft_probs[child])
        child += 1
    noise = torch.empty_like(left).exponential_(1, generator=rng)
    return path, int((left / noise).argmax())

# %% single precision, a stack of nodes still to try, a tuple
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    p, q = target_probs.float(), draft_probs.float()
    kids = lambda node: [i for i in reversed(range(len(tokens))) if parents[i] == node]
    path, left, stack = (0,), p[0], kids(0)
    while stack:
        node = stack.pop()
        if torch.rand((), generator=rng) <= min(1.0, left[tokens[node]] / q[node, tokens[node]]):
            path, left, stack = (*path, node), p[node], kids(node)
        else:
            left = residual(left, q[node])
    return path, sample(left, rng)

# %% a coin for each child, in double precision, from the last node back to the first
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    children = [[] for _ in tokens]
    for node in reversed(range(1, len(tokens))):
        children[parents[node]].insert(0, node)
    path, waiting = [0], children[0]
    left = target_probs[0].double()
    while waiting:
        child, *waiting = waiting
        x, draft = tokens[child], draft_probs[child].double()
        if torch.bernoulli((left[x] / draft[x]).clamp(max=1), generator=rng):
            path.append(child)
            waiting, left = children[child], target_probs[child].double()
        else:
            left = residual(left, draft)
    return path, sample(left, rng)

# %% what is left keeps its weight, and the draft is scaled to it
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    node, path = 0, []
    while node is not None:
        path.append(node)
        weights, following = target_probs[node].clone(), None
        for child in range(node + 1, len(tokens)):
            if parents[child] != node:
                continue
            scaled = draft_probs[child] * weights.sum()
            if torch.rand((), generator=rng) * scaled[tokens[child]] < weights[tokens[child]]:
                following = child
                break
            weights = torch.relu(weights - scaled)
        node = following
    return path, int(torch.multinomial(weights, 1, generator=rng))
