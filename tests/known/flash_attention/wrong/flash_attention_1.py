"""Wrong answers to `flash_attention_1`: edits of the reference, or the whole answer."""

# fails flash_1_loads_no_more_than_needed flash_1_stores_no_more_than_needed
#   flash_1_skips_what_nobody_sees flash_1_fits_the_chip flash_1_keeps_no_tile

# %% the order of FlashAttention-2
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in tiles(memory.n_rows, tile_q):
        queries = memory.load("Q", start, stop)
        output, total = torch.zeros(stop - start, memory.head_dim), torch.zeros(stop - start)
        maximum = torch.full((stop - start,), -torch.inf)
        for first_key, last_key in tiles(memory.n_rows, tile_kv):
            if is_causal and stop <= first_key:
                break
            keys = memory.load("K", first_key, last_key)
            values = memory.load("V", first_key, last_key)
            scores = tile_scores(queries, keys, start, first_key, is_causal)
            maximum, total, output = online_softmax(maximum, total, output, scores, values)
        memory.store("O", start, output / total[:, None])
        memory.store("l", start, total)
        memory.store("m", start, maximum)

# fails flash_1_takes_large_scores

# %% m begins at 0
# = torch.full((stop - start,), -torch.inf) => torch.full((stop - start,), 0.0)

# fails flash_1_leaves_totals_and_maxima

# %% one maximum for a whole tile
# - maximum, total, output = online_softmax(
# -     maximum, total, total[:, None] * output.float(), scores, values
# - )
new_maximum = torch.maximum(maximum, scores.max())
rescaled = (maximum - new_maximum).exp()
weights = (scores - new_maximum[:, None]).exp()
output = (rescaled * total)[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)
maximum = new_maximum

# %% the logarithm in l at the end
# - memory.store("l", start, total)
is_last = last_key == memory.n_rows
memory.store("l", start, total.log() if is_last else total)

# fails flash_1_hides_later_keys flash_1_takes_large_scores flash_1_leaves_totals_and_maxima

# %% the maximum of the tile alone
# - maximum, total, output = online_softmax(
# -     maximum, total, total[:, None] * output.float(), scores, values
# - )
new_maximum = scores.amax(-1)
rescaled = (maximum - new_maximum).exp()
weights = (scores - new_maximum[:, None]).exp()
output = (rescaled * total)[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)
maximum = new_maximum

# fails flash_1_output_is_attention flash_1_takes_a_smaller_last_tile flash_1_hides_later_keys
#   flash_1_takes_large_scores flash_1_leaves_totals_and_maxima flash_1_keeps_no_tile

# %% rescaled the wrong way round
# - maximum, total, output = online_softmax(
# -     maximum, total, total[:, None] * output.float(), scores, values
# - )
new_maximum = torch.maximum(maximum, scores.amax(-1))
rescaled = (new_maximum - maximum).exp()
weights = (scores - new_maximum[:, None]).exp()
output = (rescaled * total)[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)
maximum = new_maximum

# %% m is updated before l and O
# - maximum, total, output = online_softmax(
# -     maximum, total, total[:, None] * output.float(), scores, values
# - )
new_maximum = torch.maximum(maximum, scores.amax(-1))
maximum = new_maximum
rescaled = (maximum - new_maximum).exp()
weights = (scores - new_maximum[:, None]).exp()
output = (rescaled * total)[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)

# fails flash_1_output_is_attention flash_1_takes_a_smaller_last_tile flash_1_hides_later_keys
#   flash_1_takes_large_scores flash_1_keeps_no_tile

# %% l is updated before O
# - maximum, total, output = online_softmax(
# -     maximum, total, total[:, None] * output.float(), scores, values
# - )
new_maximum = torch.maximum(maximum, scores.amax(-1))
weights = (scores - new_maximum[:, None]).exp()
total = (maximum - new_maximum).exp() * total + weights.sum(-1)
output = total[:, None] * output + weights @ values
maximum = new_maximum

# %% O is never divided by its total
# = total[:, None] * output.float() => output
# = output / total[:, None] => output

# %% O is divided, but not multiplied again
# = total[:, None] * output.float() => output

# %% a softmax for each tile, added up
# = output / total[:, None] => before + scores.softmax(-1) @ values

# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, is_causal)
before = output

# fails flash_1_keeps_no_tile

# %% O is divided in the last turn only
# = total[:, None] * output.float() => output

# - memory.store("O", start, output / total[:, None])
is_last = last_key == memory.n_rows or is_causal and last_key >= stop
memory.store("O", start, output / total[:, None] if is_last else output)

# %% Q is loaded, but its first copy used
# - for first_key, last_key in tiles(memory.n_rows, tile_kv):
# -     keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)
copies = {}
for first_key, last_key in tiles(memory.n_rows, tile_kv):
    keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)

# - scores = tile_scores(queries, keys, start, first_key, is_causal)
queries = copies.setdefault(start, queries)
scores = tile_scores(queries, keys, start, first_key, is_causal)

# %% O and l are loaded, but not used: kept in variables
# - for first_key, last_key in tiles(memory.n_rows, tile_kv):
# -     keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)
kept = {}
for first_key, last_key in tiles(memory.n_rows, tile_kv):
    keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)

# - scores = tile_scores(queries, keys, start, first_key, is_causal)
output, total = kept.get(start, (output, total))
scores = tile_scores(queries, keys, start, first_key, is_causal)

# - memory.store("O", start, output / total[:, None])
output = output / total[:, None]
kept[start] = output, total
memory.store("O", start, output)

# fails flash_1_output_is_attention flash_1_takes_a_smaller_last_tile flash_1_hides_later_keys
#   flash_1_leaves_totals_and_maxima flash_1_keeps_no_tile

# %% the scores have no scale
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, is_causal) * memory.head_dim**0.5

# fails flash_1_takes_a_smaller_last_tile

# %% keys of zeros in the last tile
# - keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)
keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)
missing = tile_kv - len(keys)
keys = torch.nn.functional.pad(keys, (0, 0, 0, missing))
values = torch.nn.functional.pad(values, (0, 0, 0, missing))

# %% the last, smaller tile of keys is dropped
# - for first_key, last_key in tiles(memory.n_rows, tile_kv):
for first_key in range(0, memory.n_rows // tile_kv * tile_kv, tile_kv):
    last_key = first_key + tile_kv

# %% the state has as many rows as a whole tile
# = torch.zeros(stop - start) => torch.zeros(tile_q)

# fails flash_1_hides_later_keys

# %% the mask forgets where the tiles begin
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, 0, 0, is_causal)

# %% the mask forgets where the tile of queries begins
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, 0, first_key, is_causal)

# %% the mask has the two tiles exchanged
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, first_key, start, is_causal)

# %% whole tiles are skipped, but nothing is masked inside
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, False)

# fails flash_1_hides_later_keys flash_1_skips_what_nobody_sees

# %% is_causal is not used
# - if is_causal and stop <= first_key:
# -     continue

# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, False)

# %% the tiles of the diagonal are skipped too
# = stop <= first_key => start <= first_key

# %% skipped by the first query
# = stop <= first_key => start < first_key

# %% skipped by the numbers of the tiles
# = stop <= first_key => start // tile_q < first_key // tile_kv

# %% skipped if the last query sees one key
# = stop <= first_key => stop - 1 <= first_key

# fails flash_1_skips_what_nobody_sees

# %% pairs without a visible key are computed
# - if is_causal and stop <= first_key:
# -     continue

# %% one pair behind the diagonal is computed
# = stop <= first_key => stop < first_key

# %% O, l and m come before the pair is skipped
# - if is_causal and stop <= first_key:
# -     continue
output = memory.load("O", start, stop)
if is_causal and stop <= first_key:
    continue

# - queries, output = memory.load("Q", start, stop), memory.load("O", start, stop)
queries = memory.load("Q", start, stop)

# fails flash_1_loads_no_more_than_needed

# %% K and V come again for every tile of Q
# - total, maximum = memory.load("l", start, stop), memory.load("m", start, stop)
total, maximum = memory.load("l", start, stop), memory.load("m", start, stop)
keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)

# %% Q comes twice
# - total, maximum = memory.load("l", start, stop), memory.load("m", start, stop)
total, maximum = memory.load("l", start, stop), memory.load("m", start, stop)
queries = memory.load("Q", start, stop)

# fails flash_1_stores_no_more_than_needed

# %% O is stored twice in each step
# - memory.store("O", start, output / total[:, None])
memory.store("O", start, output / total[:, None])
memory.store("O", start, output / total[:, None])

# %% the scores of the last tile are written
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, is_causal)
memory.store("L", start, scores.logsumexp(-1))

# fails flash_1_output_is_attention flash_1_takes_a_smaller_last_tile flash_1_hides_later_keys
#   flash_1_takes_large_scores flash_1_leaves_totals_and_maxima flash_1_stores_no_more_than_needed
#   flash_1_keeps_no_tile

# %% m is never stored
# - memory.store("m", start, maximum)

# %% nothing is written first: room holds NaN
# - memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
# - memory.store("l", start, torch.zeros(stop - start))
# - memory.store("m", start, torch.full((stop - start,), -torch.inf))
pass

# fails flash_1_fits_the_chip

# %% K and V are loaded as a whole
# - for start, stop in tiles(memory.n_rows, tile_q):
# -     memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
# -     memory.store("l", start, torch.zeros(stop - start))
# -     memory.store("m", start, torch.full((stop - start,), -torch.inf))
for start, stop in tiles(memory.n_rows, tile_q):
    memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
    memory.store("l", start, torch.zeros(stop - start))
    memory.store("m", start, torch.full((stop - start,), -torch.inf))
all_keys, all_values = memory.load("K"), memory.load("V")

# - keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)
keys, values = all_keys[first_key:last_key], all_values[first_key:last_key]

# fails flash_1_skips_what_nobody_sees flash_1_fits_the_chip flash_1_keeps_no_tile

# %% all tiles of K and V are loaded before the first of Q
# - for start, stop in tiles(memory.n_rows, tile_q):
# -     memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
# -     memory.store("l", start, torch.zeros(stop - start))
# -     memory.store("m", start, torch.full((stop - start,), -torch.inf))
for start, stop in tiles(memory.n_rows, tile_q):
    memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
    memory.store("l", start, torch.zeros(stop - start))
    memory.store("m", start, torch.full((stop - start,), -torch.inf))
loaded = {
    first: (memory.load("K", first, last), memory.load("V", first, last))
    for first, last in tiles(memory.n_rows, tile_kv)
}

# - keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)
keys, values = loaded[first_key]

# fails flash_1_loads_no_more_than_needed flash_1_stores_no_more_than_needed flash_1_fits_the_chip
#   flash_1_keeps_no_tile

# %% standard attention, as a whole
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
    memory.store("m", 0, scores.amax(-1))
    memory.store("l", 0, (scores.logsumexp(-1) - scores.amax(-1)).exp())
    memory.store("O", 0, scores.softmax(-1) @ memory.load("V"))

# %% one tile of all rows, whatever is asked
# - def flash_attention_1(
# -     memory: Memory,
# -     tile_q: int,
# -     tile_kv: int,
# -     is_causal: bool = False,
# - ) -> None:
def flash_attention_1(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    tile_q = tile_kv = memory.n_rows

# fails flash_1_loads_no_more_than_needed flash_1_stores_no_more_than_needed flash_1_keeps_no_tile

# %% tiles of one row, whatever is asked
# - def flash_attention_1(
# -     memory: Memory,
# -     tile_q: int,
# -     tile_kv: int,
# -     is_causal: bool = False,
# - ) -> None:
def flash_attention_1(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    tile_q = tile_kv = 1
