"""Wrong answers to `padding_waste`: edits of the reference, or the whole answer."""

# fails each_batch_is_padded_to_its_own_longest batches_count_by_their_tokens
#   without_batches_nothing_is_wasted

# %% the part that is used
# = 1 - sum(map(sum, lengths)) / computed => sum(map(sum, lengths)) / computed

# %% rounded up to a power of two
# = max(batch) => (1 << max(batch).bit_length())

# fails each_batch_is_padded_to_its_own_longest batches_count_by_their_tokens

# %% over the true tokens
# = 1 - sum(map(sum, lengths)) / computed => computed / sum(map(sum, lengths)) - 1

# %% a number of tokens
# = 1 - sum(map(sum, lengths)) / computed if computed else 0.0 => computed - sum(map(sum, lengths))

# %% in percent
# = 1 - sum(map(sum, lengths)) / computed => 100 - 100 * sum(map(sum, lengths)) / computed

# %% the worst batch
def padding_waste(batches):
    return max((1 - sum(batch) / (max(batch) * len(batch)) for batch in batches), default=0.0)

# fails each_batch_is_padded_to_its_own_longest

# %% all padded to the longest of all
# - computed = sum(max(batch) * len(batch) for batch in lengths)
computed = max((max(b) for b in lengths), default=0) * sum(map(len, lengths))

# %% only what the shortest lacks
def padding_waste(batches):
    computed = sum(max(b) * len(b) for b in batches)
    return sum(max(b) - min(b) for b in batches) / computed if computed else 0.0

# fails batches_count_by_their_tokens each_batch_is_padded_to_its_own_longest

# %% a mean of parts
def padding_waste(batches):
    parts = [1 - sum(batch) / (max(batch) * len(batch)) for batch in batches]
    return sum(parts) / len(parts) if parts else 0.0

# fails without_batches_nothing_is_wasted

# %% divides by nothing
# - return 1 - sum(map(sum, lengths)) / computed if computed else 0.0
return 1 - sum(map(sum, lengths)) / computed

# %% all of nothing
# - return 1 - sum(map(sum, lengths)) / computed if computed else 0.0
return 1 - sum(map(sum, lengths)) / computed if computed else 1.0

# fails each_batch_is_padded_to_its_own_longest

# %% batches of one are left out
# = for batch in batches => for batch in batches if len(batch) > 1
