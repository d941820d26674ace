"""Wrong answers to `expected_tokens`: edits of the reference, or the whole answer."""

# fails each_token_counts_by_its_chance_to_stay the_ends_are_not_forgotten

# %% without the target's own token
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return float(sum(alpha**n for n in range(1, gamma + 1)))

# %% gamma for gamma + 1
# = range(gamma + 1) => range(gamma)

# %% endless blocks
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return 1 / (1 - alpha) if alpha < 1 else gamma + 1

# %% the target's token has to be accepted
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return alpha * sum(alpha**n for n in range(gamma + 1))

# fails each_token_counts_by_its_chance_to_stay

# %% each accepted on its own
# = float(sum(alpha**n_accepted for n_accepted in range(gamma + 1))) => 1 + gamma * alpha

# %% all or nothing
# = float(sum(alpha**n_accepted for n_accepted in range(gamma + 1))) => 1 + gamma * alpha**gamma

# fails the_ends_are_not_forgotten

# %% the closed form alone
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return (1 - alpha ** (gamma + 1)) / (1 - alpha)

# %% endless for alpha 1
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return float("inf") if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)

# %% something in the denominator
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return (1 - alpha ** (gamma + 1)) / (1 - alpha + 1e-8)

# %% gamma 0 is refused too
# = if gamma < 0: => if gamma < 1:

# %% alpha 1 is refused too
# = 0 <= alpha <= 1 => 0 <= alpha < 1

# fails what_is_no_probability_is_refused

# %% any alpha
# = not 0 <= alpha <= 1 => False

# %% any gamma
# = if gamma < 0: => if False:
