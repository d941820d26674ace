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

# fails after_a_rejection_the_token_is_drawn_from_what_is_left

# %% the target after all rejections
# = sample(left, rng) => sample(target_probs[path[-1]], rng)

# fails an_only_child_is_accepted_by_the_ratio
#   each_rejection_changes_what_the_next_child_is_compared_with

# %% the target's probability alone
# = uniform < left[token] / draft[token] => uniform < left[token]

# fails an_only_child_is_accepted_by_the_ratio
#   each_rejection_changes_what_the_next_child_is_compared_with
#   after_a_rejection_the_token_is_drawn_from_what_is_left

# %% always accepted
# = uniform < left[token] / draft[token] => uniform < 1

# fails an_only_child_is_accepted_by_the_ratio
#   each_rejection_changes_what_the_next_child_is_compared_with
#   after_a_rejection_the_token_is_drawn_from_what_is_left

# %% the ratio upside down
# = left[token] / draft[token] => draft[token] / left[token]

# fails an_only_child_is_accepted_by_the_ratio
#   each_rejection_changes_what_the_next_child_is_compared_with
#   (after_a_rejection_the_token_is_drawn_from_what_is_left)

# %% the target's row of the child
# = uniform < left[token] / draft[token] => uniform < target_probs[node, token] / draft[token]

# fails an_only_child_is_accepted_by_the_ratio
#   each_rejection_changes_what_the_next_child_is_compared_with
#   (rng_decides_about_the_tree)
#   (after_a_rejection_the_token_is_drawn_from_what_is_left)
#   (from_an_accepted_child_it_goes_on_as_from_node_0)

# %% accepted if the target gives it at least as much
# = uniform < left[token] / draft[token] => left[token] >= draft[token]

# fails each_rejection_changes_what_the_next_child_is_compared_with

# %% siblings are compared with the target, and the token comes from the residual
# = uniform < left[token] / draft[token] => uniform < target_probs[path[-1], token] / draft[token]

# fails children_are_tried_in_the_order_of_their_numbers

# %% the last child first
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    path = [0]
    while True:
        left, here = target_probs[path[-1]], len(path)
        for child in reversed([i for i, parent in enumerate(parents) if parent == path[-1]]):
            ratio = left[tokens[child]] / draft_probs[child, tokens[child]]
            if torch.rand((), generator=rng) < ratio:
                path.append(child)
                break
            left = residual(left, draft_probs[child])
        if len(path) == here:
            return path, sample(left, rng)

# %% the likeliest child of the target first
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    path = [0]
    while True:
        left, here = target_probs[path[-1]], len(path)
        children = [i for i, parent in enumerate(parents) if parent == path[-1]]
        for child in sorted(children, key=lambda child: -left[tokens[child]]):
            ratio = left[tokens[child]] / draft_probs[child, tokens[child]]
            if torch.rand((), generator=rng) < ratio:
                path.append(child)
                break
            left = residual(left, draft_probs[child])
        if len(path) == here:
            return path, sample(left, rng)

# fails the_path_goes_from_parent_to_child
#   from_an_accepted_child_it_goes_on_as_from_node_0
#   a_node_without_children_gives_one_token_more

# %% after a rejected child its children are tried
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    path, left, tried = [0], target_probs[0], {0}
    for node in range(1, len(tokens)):
        if parents[node] not in tried:
            continue
        x = tokens[node]
        tried.add(node)
        if torch.rand((), generator=rng) < left[x] / draft_probs[node, x]:
            path.append(node)
            left, tried = target_probs[node], {node}
        else:
            left = residual(left, draft_probs[node])
    return path, sample(left, rng)

# fails the_path_goes_from_parent_to_child
#   from_an_accepted_child_it_goes_on_as_from_node_0
#   a_node_without_children_gives_one_token_more
#   (what_the_target_excludes_never_gets_into_the_text)

# %% siblings of an accepted node are tried, too
# = if parents[node] != path[-1]: => if parents[node] not in path:

# fails the_path_goes_from_parent_to_child

# %% the path without node 0
# = return path, sample(left, rng) => return path[1:], sample(left, rng)

# fails each_rejection_changes_what_the_next_child_is_compared_with
#   from_an_accepted_child_it_goes_on_as_from_node_0

# %% one uniform for the whole tree
def verify_tree(tokens, parents, draft_probs, target_probs, rng=None):
    check_tree(tokens, parents, draft_probs, target_probs)
    path, left = [0], target_probs[0]
    uniform = torch.rand((), generator=rng)
    for node, x in enumerate(tokens):
        if parents[node] != path[-1]:
            continue
        if uniform < left[x] / draft_probs[node, x]:
            path.append(node)
            left = target_probs[node]
        else:
            left = residual(left, draft_probs[node])
    return path, sample(left, rng)

# fails from_an_accepted_child_it_goes_on_as_from_node_0

# %% one uniform for each child that is first
# - uniform = torch.rand((), generator=rng, dtype=left.dtype, device=left.device)
if left is target_probs or node == 1 or parents.index(parents[node]) != node:
    uniform = torch.rand((), generator=rng, dtype=left.dtype, device=left.device)

# fails from_an_accepted_child_it_goes_on_as_from_node_0
#   a_node_without_children_gives_one_token_more
#   (what_the_target_excludes_never_gets_into_the_text)

# %% what is left stays after an acceptance
# - left = target_probs[node]
pass

# fails from_an_accepted_child_it_goes_on_as_from_node_0
#   a_node_without_children_gives_one_token_more

# %% the row by depth
# - left = target_probs[node]
left = target_probs[len(path) - 1]

# fails a_node_without_children_gives_one_token_more
#   (what_the_target_excludes_never_gets_into_the_text)

# %% the bonus from the parent's row
# - return path, sample(left, rng)
end = path[-1]
return path, sample(left if end in parents else target_probs[parents[end]], rng)

# fails a_node_without_children_gives_one_token_more
#   (what_the_target_excludes_never_gets_into_the_text)

# %% the bonus from the last row
# - return path, sample(left, rng)
return path, sample(left if path[-1] in parents else target_probs[-1], rng)

# fails a_node_without_children_gives_one_token_more

# %% the bonus from the row by depth
# - return path, sample(left, rng)
return path, sample(left if path[-1] in parents else target_probs[len(path) - 1], rng)

# fails a_node_without_children_gives_one_token_more
#   without_guesses_it_is_a_plain_step
#   (what_the_target_excludes_never_gets_into_the_text)

# %% the bonus from the draft
# - return path, sample(left, rng)
return path, sample(left if path[-1] in parents else draft_probs[path[-1]], rng)

# fails a_node_without_children_gives_one_token_more
#   without_guesses_it_is_a_plain_step
#   (what_the_target_excludes_never_gets_into_the_text)

# %% the bonus from a residual
# - return path, sample(left, rng)
if path[-1] not in parents:
    left = residual(left, draft_probs[path[-1]])
return path, sample(left, rng)

# fails without_guesses_it_is_a_plain_step

# %% nothing to draw without guesses
# - path, left = [0], target_probs[0]
if len(tokens) == 1:
    return [0], 0
path, left = [0], target_probs[0]

# fails what_the_target_excludes_never_gets_into_the_text

# %% eps in the ratio
# = left[token] / draft[token] => (left[token] + 1e-6) / (draft[token] + 1e-6)

# %% eps in what is left
# = sample(left, rng) => sample(left + 1e-7, rng)

# fails what_is_no_tree_is_refused

# %% no look at the tree
# = check_tree(tokens, parents, draft_probs, target_probs) => pass

# %% the shapes alone
# - check_tree(tokens, parents, draft_probs, target_probs)
n = len(tokens)
if not n or len(parents) != n or draft_probs.shape != target_probs.shape or len(draft_probs) != n:
    raise ValueError("shapes")

# %% parents after their children are refused, a second root is not
# - check_tree(tokens, parents, draft_probs, target_probs)
n = len(tokens)
if not n or len(parents) != n or draft_probs.shape != target_probs.shape or len(draft_probs) != n:
    raise ValueError("shapes")
if any(not -1 <= parent < node for node, parent in enumerate(parents)):
    raise ValueError("parents")

# %% rows are not counted
# - check_tree(tokens, parents, draft_probs, target_probs)
check_tree(tokens, parents, draft_probs[: len(tokens)], target_probs[: len(tokens)])

# fails the_tree_stays_as_it_is

# %% the residual in place
# = residual(left, draft) => left.sub_(draft).clamp_(min=0).div_(left.sum())

# %% takes the parents off the list
# - check_tree(tokens, parents, draft_probs, target_probs)
check_tree(tokens, parents, draft_probs, target_probs)
given, parents = parents, list(parents)
given.pop()

# %% the draft's rows are divided in place
# - check_tree(tokens, parents, draft_probs, target_probs)
check_tree(tokens, parents, draft_probs, target_probs)
draft_probs.mul_(2).div_(2.000001)

# fails rng_decides_about_the_tree

# %% the uniforms are of torch's own generator
# = torch.rand((), generator=rng, dtype=left.dtype, device=left.device) => torch.rand((), dtype=left.dtype)

# %% the seed of rng again in each call
# - check_tree(tokens, parents, draft_probs, target_probs)
check_tree(tokens, parents, draft_probs, target_probs)
rng = None if rng is None else torch.Generator().manual_seed(rng.initial_seed())

# fails each_rejection_changes_what_the_next_child_is_compared_with

# %% what is left is not divided by its sum
# = left = residual(left, draft) => left = (left - draft).clamp(min=0) if (left > draft).any() else left

# fails from_an_accepted_child_it_goes_on_as_from_node_0

# %% one level of the tree is enough
# = if parents[node] != path[-1]: => if parents[node] != path[-1] or len(path) > 1:

# fails each_rejection_changes_what_the_next_child_is_compared_with

# %% the first child of a node alone is tried
# = if parents[node] != path[-1]: => if parents[node] != path[-1] or parents[node] in parents[:node]:
