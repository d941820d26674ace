"""Wrong answers to `least_tile`: edits of the reference, or the whole answer."""

# fails as_much_is_not_less

# %% as much will do
# - if sum(flash_1_traffic(n_rows, head_dim, tile_kv)) < standard:
# -     return tile_kv
if sum(flash_1_traffic(n_rows, head_dim, tile_kv)) <= standard:
    return tile_kv

# fails a_tile_may_have_all_rows_or_not_exist

# %% tiles of all rows left out
# = n_rows + 1 => n_rows

# %% all rows if none is enough
# = return None => return n_rows

# fails the_least_tile_that_moves_less

# %% not below head_dim
# = range(1, n_rows + 1) => range(head_dim, n_rows + 1)

# fails the_least_tile_that_moves_less a_tile_may_have_all_rows_or_not_exist as_much_is_not_less

# %% the first writing left out
# - if sum(flash_1_traffic(n_rows, head_dim, tile_kv)) < standard:
# -     return tile_kv
if sum(flash_1_traffic(n_rows, head_dim, tile_kv)) - n_rows * (head_dim + 2) < standard:
    return tile_kv

# %% a rule of thumb
def least_tile(n_rows, head_dim):
    return (3 * head_dim + 4) // 4

# %% the largest that moves more
# = return tile_kv => return tile_kv - 1

# %% the other order
# = flash_1_traffic(n_rows, head_dim, tile_kv) => flash_2_traffic(n_rows, head_dim, tile_kv)

# fails the_least_tile_that_moves_less as_much_is_not_less

# %% reads alone
# - if sum(flash_1_traffic(n_rows, head_dim, tile_kv)) < standard:
# -     return tile_kv
if flash_1_traffic(n_rows, head_dim, tile_kv).reads < standard_traffic(n_rows, head_dim).reads:
    return tile_kv

# %% tiles that divide the rows alone
# = range(1, n_rows + 1) => (n for n in range(1, n_rows + 1) if n_rows % n == 0)

# fails the_least_tile_that_moves_less

# %% up to 64
# = range(1, n_rows + 1) => range(1, min(n_rows, 64) + 1)
