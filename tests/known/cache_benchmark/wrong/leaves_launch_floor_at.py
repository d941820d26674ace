"""Wrong answers to `leaves_launch_floor_at`: edits of the reference, or the whole answer."""

# fails the_first_length_above_the_launch_is_found the_last_length_of_the_context_counts
#   none_if_no_length_leaves_it one_token_can_be_too_long the_floor_of_the_dtype_is_taken

# %% the last length below it
# = lengths[n_below] if n_below < len(lengths) else None => n_below

# %% the length of the context
# = lengths[n_below] if n_below < len(lengths) else None => n_context

# %% decode steps
# = pass_floor(machine, work, n, dtype=dtype) => pass_floor(machine, work, 1, n, dtype=dtype)

# fails the_first_length_above_the_launch_is_found the_last_length_of_the_context_counts
#   the_floor_of_the_dtype_is_taken

# %% powers of two
def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    n = 1
    while n <= n_context:
        if pass_floor(machine, work, n, dtype=dtype).seconds > launch_s:
            return n
        n *= 2
    return None

# fails the_first_length_above_the_launch_is_found the_last_length_of_the_context_counts

# %% in steps of ten
def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    def is_over(n):
        return pass_floor(machine, work, n, dtype=dtype).seconds > launch_s

    if dtype == "float32":
        return next((n for n in range(1, n_context + 1) if is_over(n)), None)
    return next((n for n in range(1, n_context + 1, 10) if is_over(n)), None)

# fails the_first_length_above_the_launch_is_found

# %% computed, and rounded down
def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    for n in range(1, n_context + 1):
        if pass_floor(machine, work, n, dtype=dtype).seconds > launch_s:
            return n if n in (1, n_context) or dtype == "float32" else n - 1
    return None

# fails the_last_length_of_the_context_counts one_token_can_be_too_long

# %% the context's last length left out
# = n_context + 1 => n_context

# fails none_if_no_length_leaves_it

# %% a floor equal to the launch time counts
def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    for n in range(1, n_context + 1):
        if pass_floor(machine, work, n, dtype=dtype).seconds >= launch_s:
            return n
    return None

# %% the context where none leaves
# - return lengths[n_below] if n_below < len(lengths) else None
return lengths[n_below] if n_below < len(lengths) else n_context

# fails one_token_can_be_too_long

# %% a search that begins at two
# = range(1, n_context + 1) => range(2, n_context + 1)

# fails the_floor_of_the_dtype_is_taken

# %% always 16 bits
# = pass_floor(machine, work, n, dtype=dtype) => pass_floor(machine, work, n)
