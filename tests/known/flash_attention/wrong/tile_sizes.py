"""Wrong answers to `tile_sizes`: edits of the reference, or the whole answer."""

# fails wider_numbers_make_shorter_tiles

# %% numbers for bytes
# = 4 * head_dim * bytes_per_number => 4 * head_dim

# fails four_tiles_fill_the_chip wider_numbers_make_shorter_tiles a_chip_without_room_is_refused

# %% 4 bytes, whatever is asked
# = 4 * head_dim * bytes_per_number => 4 * head_dim * 4

# %% 2 bytes, whatever is asked
# = 4 * head_dim * bytes_per_number => 4 * head_dim * 2

# fails wider_numbers_make_shorter_tiles a_row_fits_whole_or_not_at_all

# %% multiplied by the width
# - tile_kv = sram_bytes // (4 * head_dim * bytes_per_number)
tile_kv = sram_bytes * bytes_per_number // (4 * head_dim)

# fails wider_numbers_make_shorter_tiles scores_take_no_more_than_a_tile_of_keys

# %% the width taken twice
# = 4 * head_dim * bytes_per_number => 4 * head_dim * bytes_per_number * bytes_per_number

# fails four_tiles_fill_the_chip scores_take_no_more_than_a_tile_of_keys
#   a_chip_without_room_is_refused

# %% bits
# = 4 * head_dim * bytes_per_number => 4 * head_dim * bytes_per_number * 8

# fails four_tiles_fill_the_chip a_chip_without_room_is_refused

# %% three tiles
# = 4 * head_dim => 3 * head_dim

# fails four_tiles_fill_the_chip

# %% three tiles, with room for four rows
# - return min(tile_kv, head_dim), tile_kv
tile_kv = sram_bytes // (3 * head_dim * bytes_per_number)
return min(tile_kv, head_dim), tile_kv

# fails four_tiles_fill_the_chip a_row_fits_whole_or_not_at_all a_chip_without_room_is_refused

# %% rows of one number
# = 4 * head_dim * bytes_per_number => 4 * bytes_per_number

# fails a_row_fits_whole_or_not_at_all a_chip_without_room_is_refused

# %% rounded up, as the paper prints it
# - tile_kv = sram_bytes // (4 * head_dim * bytes_per_number)
tile_kv = -(-sram_bytes // (4 * head_dim * bytes_per_number))

# fails a_row_fits_whole_or_not_at_all

# %% not rounded
# - tile_kv = sram_bytes // (4 * head_dim * bytes_per_number)
tile_kv = sram_bytes / (4 * head_dim * bytes_per_number)

# fails scores_take_no_more_than_a_tile_of_keys

# %% min with head_dim forgotten
# = min(tile_kv, head_dim) => tile_kv

# %% head_dim in bytes
# = min(tile_kv, head_dim) => min(tile_kv, head_dim * bytes_per_number)

# fails scores_take_no_more_than_a_tile_of_keys a_chip_without_room_is_refused

# %% always head_dim rows of Q
# = min(tile_kv, head_dim) => head_dim

# %% the larger of the two
# = min(tile_kv, head_dim) => max(tile_kv, head_dim)

# fails four_tiles_fill_the_chip wider_numbers_make_shorter_tiles a_row_fits_whole_or_not_at_all
#   scores_take_no_more_than_a_tile_of_keys

# %% tile_kv limited instead
# = min(tile_kv, head_dim), tile_kv => tile_kv, min(tile_kv, head_dim)

# fails four_tiles_fill_the_chip wider_numbers_make_shorter_tiles a_row_fits_whole_or_not_at_all

# %% both limited
# = min(tile_kv, head_dim), tile_kv => (min(tile_kv, head_dim),) * 2

# fails a_chip_without_room_is_refused

# %% a row in any case
# - tile_kv = sram_bytes // (4 * head_dim * bytes_per_number)
tile_kv = max(1, sram_bytes // (4 * head_dim * bytes_per_number))

# %% a single row is refused too
# = tile_kv < 1 => tile_kv <= 1

# fails four_tiles_fill_the_chip wider_numbers_make_shorter_tiles a_row_fits_whole_or_not_at_all
#   scores_take_no_more_than_a_tile_of_keys

# %% the pair exchanged
# = min(tile_kv, head_dim), tile_kv => tile_kv, min(tile_kv, head_dim)
