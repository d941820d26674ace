"""Wrong answers to `expected_tokens`: edits of the reference, or the whole answer."""

# fails each_token_counts_by_its_chance_to_stay the_ends_are_not_forgotten

# %% without the target's own token
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return float(sum(alpha**n for n in range(1, gamma + 1)))

# %% gamma for gamma + 1
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return float(sum(alpha**n_accepted for n_accepted in range(gamma)))

# %% endless blocks
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return 1 / (1 - alpha) if alpha < 1 else gamma + 1

# %% the target's token has to be accepted
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return alpha * sum(alpha**n for n in range(gamma + 1))

# fails each_token_counts_by_its_chance_to_stay

# %% each accepted on its own
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return 1 + gamma * alpha

# %% all or nothing
# - return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))
return 1 + gamma * alpha**gamma

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
# - if gamma < 0:
# -     raise ValueError(f"gamma must be at least 0, not {gamma}")
if gamma < 1:
    raise ValueError(f"gamma must be at least 0, not {gamma}")

# %% alpha 1 is refused too
# - if not 0 <= alpha <= 1:
# -     raise ValueError(f"alpha is a probability, from 0 to 1; got {alpha}")
if not 0 <= alpha < 1:
    raise ValueError(f"alpha is a probability, from 0 to 1; got {alpha}")

# fails what_is_no_probability_is_refused

# %% any alpha
# - if not 0 <= alpha <= 1:
# -     raise ValueError(f"alpha is a probability, from 0 to 1; got {alpha}")
if False:
    raise ValueError(f"alpha is a probability, from 0 to 1; got {alpha}")

# %% any gamma
# - if gamma < 0:
# -     raise ValueError(f"gamma must be at least 0, not {gamma}")
if False:
    raise ValueError(f"gamma must be at least 0, not {gamma}")
