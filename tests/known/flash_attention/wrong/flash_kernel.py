"""Wrong answers to `flash_kernel`: edits of the reference, or the whole answer."""

# fails one_tile_is_attention the_loop_goes_through_all_keys rows_after_the_end_count_nothing
#   the_kernel_hides_later_keys the_kernel_skips_hidden_tiles the_kernel_takes_large_scores
#   sums_are_float32

# %% O is not divided
# = (output / row_sum[:, None]).to(tl.float16) => output.to(tl.float16)

# %% no scale
# = tl.dot(queries, tl.trans(keys)) * scale => tl.dot(queries, tl.trans(keys))

# fails the_loop_goes_through_all_keys rows_after_the_end_count_nothing
#   the_kernel_hides_later_keys the_kernel_takes_large_scores

# %% the output is not rescaled
# = rescaled[:, None] * output + => output +

# %% the total is not rescaled
# = rescaled * row_sum + => row_sum +

# %% neither is rescaled
# = rescaled[:, None] * output + => output +
# = rescaled * row_sum + => row_sum +

# fails the_loop_goes_through_all_keys

# %% one tile of 1,024 keys, and no loop
# = in range(0, stop, TILE_KV) => in range(1)
# = start + tl.arange(0, TILE_KV) => tl.arange(0, 1024)
# = is_key = (k_row < n_rows) => is_key = (k_row < stop)

# fails rows_after_the_end_count_nothing

# %% keys after the end have the score 0
# = is_seen = (k_row < n_rows)[None, :] => is_seen = (k_row >= 0)[None, :]

# %% loads without a mask
# = keys = tl.load(k_ptr + key_place, mask=is_key, other=0.0) => keys = tl.load(k_ptr + key_place)

# %% the store has no mask
# = .to(tl.float16), mask=is_query) => .to(tl.float16))

# fails the_kernel_hides_later_keys the_kernel_skips_hidden_tiles

# %% a query does not see its own key
# = k_row[None, :] <= q_row[:, None] => k_row[None, :] < q_row[:, None]

# %% a query sees the next key
# = k_row[None, :] <= q_row[:, None] => k_row[None, :] <= q_row[:, None] + 1

# %% the loop ends before the diagonal
# = (tl.program_id(0) + 1) * TILE_Q) => tl.program_id(0) * TILE_Q)

# fails the_kernel_hides_later_keys

# %% positions in the tile
# = k_row[None, :] <= q_row[:, None] => (k_row - start)[None, :] <= tl.arange(0, TILE_Q)[:, None]

# fails rows_after_the_end_count_nothing the_kernel_hides_later_keys
#   the_kernel_skips_hidden_tiles

# %% hidden keys have the score 0
# = tl.dot(queries, tl.trans(keys)) * scale, float("-inf")) => tl.dot(queries, tl.trans(keys)) * scale, 0.0)

# fails the_kernel_hides_later_keys the_kernel_skips_hidden_tiles
#   (rows_after_the_end_count_nothing)

# %% a mask before the scale
# - scores = tl.where(is_seen, tl.dot(queries, tl.trans(keys)) * scale, float("-inf"))
scores = tl.where(is_seen, tl.dot(queries, tl.trans(keys)), -10.0) * scale

# fails the_kernel_skips_hidden_tiles

# %% no tile is skipped
# - if IS_CAUSAL:
# -     stop = tl.minimum(n_rows, (tl.program_id(0) + 1) * TILE_Q)
pass

# fails the_kernel_takes_large_scores

# %% no maximum
# = rescaled = tl.exp(row_max - new_max) => rescaled = tl.exp(0.0 * row_sum)
# = weights = tl.exp(scores - new_max[:, None]) => weights = tl.exp(scores)

# fails sums_are_float32

# %% the output is summed in float16
# = output = tl.zeros((TILE_Q, HEAD_DIM), tl.float32) => output = tl.zeros((TILE_Q, HEAD_DIM), tl.float16)
# = output = rescaled[:, None] * output + tl.dot(weights.to(tl.float16), values) => output = (rescaled[:, None] * output + tl.dot(weights.to(tl.float16), values)).to(tl.float16)

# %% the total is summed in float16
# = row_sum = tl.zeros((TILE_Q,), tl.float32) => row_sum = tl.zeros((TILE_Q,), tl.float16)
# = row_sum = rescaled * row_sum + tl.sum(weights, axis=1) => row_sum = (rescaled * row_sum + tl.sum(weights, axis=1)).to(tl.float16)
