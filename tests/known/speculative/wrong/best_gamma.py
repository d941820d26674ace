"""Wrong answers to `best_gamma`: edits of the reference, or the whole answer."""

# fails the_fastest_gamma_is_found each_gamma_has_its_own_verification
#   a_worse_gamma_does_not_end_the_search where_all_lose_nothing_is_drafted
#   the_smallest_of_equals_is_taken

# %% the most tokens per block
# - return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0
return speedup(alpha, gamma, 0, 1, 1)

# %% drafts are free
# - return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0
return speedup(alpha, gamma, 0.0, target_s, verify_s(gamma)) if gamma else 1.0

# fails the_fastest_gamma_is_found

# %% no more than eight, and the last
# = range(max_gamma + 1) => [*range(min(max_gamma, 8) + 1), max_gamma]

# fails the_fastest_gamma_is_found each_gamma_has_its_own_verification
#   a_worse_gamma_does_not_end_the_search the_search_ends_with_max_gamma
#   the_smallest_of_equals_is_taken

# %% an index for a gamma
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    def gain(gamma):
        return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma))

    gains = [gain(gamma) for gamma in range(1, max_gamma + 1)]
    return gains.index(max(gains)) if max(gains) > 1 else 0

# fails the_fastest_gamma_is_found each_gamma_has_its_own_verification
#   a_worse_gamma_does_not_end_the_search the_smallest_of_equals_is_taken

# %% the largest gamma that gains
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    def gain(gamma):
        return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma))

    return max((gamma for gamma in range(1, max_gamma + 1) if gain(gamma) > 1), default=0)

# fails the_fastest_gamma_is_found each_gamma_has_its_own_verification
#   a_worse_gamma_does_not_end_the_search where_all_lose_nothing_is_drafted
#   the_search_ends_with_max_gamma the_smallest_of_equals_is_taken

# %% the speedup, not its gamma
# = max(range(max_gamma + 1), key=gain) => max(gain(gamma) for gamma in range(max_gamma + 1))

# fails each_gamma_has_its_own_verification

# %% the call that verifies one
# - return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0
return speedup(alpha, gamma, draft_s, target_s, verify_s(1)) if gamma else 1.0

# fails each_gamma_has_its_own_verification a_worse_gamma_does_not_end_the_search
#   where_all_lose_nothing_is_drafted the_smallest_of_equals_is_taken

# %% a verification is a step
# - return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0
return speedup(alpha, gamma, draft_s, target_s, target_s) if gamma else 1.0

# fails a_worse_gamma_does_not_end_the_search

# %% gives up if the first loses
# - return max(range(max_gamma + 1), key=gain)
if gain(1) <= 1:
    return 0
return max(range(max_gamma + 1), key=gain)

# %% climbs from none
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    def gain(gamma):
        return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma))

    best, gained = 0, 1.0
    while best < max_gamma and gain(best + 1) > gained:
        best, gained = best + 1, gain(best + 1)
    return best

# fails where_all_lose_nothing_is_drafted

# %% the smallest loss
# = range(max_gamma + 1) => range(1, max_gamma + 1)

# %% None if all lose
# = max(range(max_gamma + 1), key=gain) => max(range(max_gamma + 1), key=gain) or None

# %% as fast as plain will do
# = range(max_gamma + 1) => [*range(1, max_gamma + 1), 0]

# fails the_search_ends_with_max_gamma

# %% max_gamma left out
# = max_gamma + 1 => max(max_gamma, 2)

# %% up to 64, whatever is asked
# = max_gamma + 1 => 65

# fails where_all_lose_nothing_is_drafted the_smallest_of_equals_is_taken

# %% the largest of equals
# = range(max_gamma + 1) => range(max_gamma, -1, -1)

# fails the_smallest_of_equals_is_taken

# %% the larger of two that gain alike
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    def gain(gamma):
        return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma))

    best = max(range(max_gamma, 0, -1), key=gain)
    return best if gain(best) > 1 else 0

# fails no_best_gamma_without_a_probability

# %% any alpha
# - return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0
return speedup(min(1, max(0, alpha)), gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0
