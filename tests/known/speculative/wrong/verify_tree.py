"""Wrong answers to `verify_tree`: edits of the reference, or the whole answer."""

# fails each_rejection_changes_what_the_next_child_is_compared_with

# %% each residual from the target's own row
# = residual(left, draft) => residual(target_probs[path[-1]], draft)

# %% a tried token is taken out of the draft, as if drawn without replacement
# - draft = draft_probs[node]
tried = [tokens[i] for i in range(node) if parents[i] == parents[node]]
draft = draft_probs[node].index_fill(0, torch.tensor(tried, dtype=torch.long), 0)
draft = draft / draft.sum()

# %% one uniform for all siblings
# - uniform = torch.rand((), generator=rng, dtype=left.dtype, device=left.device)
if node == parents.index(parents[node]):
    uniform = torch.rand((), generator=rng, dtype=left.dtype, device=left.device)

# %% the first child's row of the draft for all siblings
# = draft_probs[node] => draft_probs[parents.index(parents[node])]

# %% the same token is tried once
# - draft = draft_probs[node]
if token in [tokens[i] for i in range(node) if parents[i] == parents[node]]:
    continue
draft = draft_probs[node]

# fails each_rejection_changes_what_the_next_child_is_compared_with
#   after_a_rejection_the_token_is_drawn_from_what_is_left

# %% the residual is not taken
# = left = residual(left, draft) => pass

# %% the rejected token alone is removed
# - left = residual(left, draft)
left = left.index_fill(0, torch.tensor(token), 0)
left = left / left.sum()

# %% siblings are compared with the target, and the token is drawn from it
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    path, tried = [0], 1
    while tried < len(tokens):
        if parents[tried] == path[-1]:
            x = tokens[tried]
            ratio = target_probs[path[-1], x] / draft_probs[tried, x]
            if torch.rand((), generator=rng) < ratio:
                path.append(tried)
        tried += 1
    return path, sample(target_probs[path[-1]], rng)

# fails after_a_rejection_the_token_is_drawn_from_what_is_left

# %% the target after all rejections
# = sample(left, rng) => sample(target_probs[path[-1]], rng)

# fails an_only_child_is_accepted_by_the_ratio

# %% the target's probability alone
# = uniform < left[token] / draft[token] => uniform < left[token]
