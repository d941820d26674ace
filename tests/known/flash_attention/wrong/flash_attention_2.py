"""Wrong answers to `flash_attention_2`: edits of the reference, or the whole answer."""

# fails flash_2_leaves_the_log_of_the_sum flash_2_loads_no_more_than_needed
#   flash_2_stores_no_more_than_needed flash_2_skips_what_nobody_sees flash_2_fits_the_chip
#   flash_2_keeps_no_tile

# %% the order of FlashAttention-1
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    flash_attention_1(memory, tile_q, tile_kv, is_causal)

# fails flash_2_takes_large_scores

# %% exponentials first, then quotients
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
new_maximum = torch.maximum(maximum, scores.amax(-1))
rescaled = maximum.exp() / new_maximum.exp()
weights = scores.exp() / new_maximum.exp()[:, None]
output = (rescaled)[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)
maximum = new_maximum

# %% m begins at 0
# = torch.full((stop - start,), -torch.inf) => torch.full((stop - start,), 0.0)

# fails flash_2_hides_later_keys flash_2_takes_large_scores

# %% the maximum of the tile alone
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
new_maximum = scores.amax(-1)
rescaled = (maximum - new_maximum).exp()
weights = (scores - new_maximum[:, None]).exp()
output = (rescaled)[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)
maximum = new_maximum

# fails flash_2_output_is_attention flash_2_takes_a_smaller_last_tile flash_2_hides_later_keys
#   flash_2_takes_large_scores flash_2_leaves_the_log_of_the_sum flash_2_keeps_no_tile

# %% rescaled the wrong way round
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
new_maximum = torch.maximum(maximum, scores.amax(-1))
rescaled = (new_maximum - maximum).exp()
weights = (scores - new_maximum[:, None]).exp()
output = (rescaled)[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)
maximum = new_maximum

# %% m is updated before l and the output
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
maximum = torch.maximum(maximum, scores.amax(-1))
weights = (scores - maximum[:, None]).exp()
output = output + weights @ values
total = total + weights.sum(-1)

# fails flash_2_output_is_attention flash_2_takes_a_smaller_last_tile flash_2_hides_later_keys
#   flash_2_takes_large_scores flash_2_keeps_no_tile

# %% the output is not rescaled
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
new_maximum = torch.maximum(maximum, scores.amax(-1))
rescaled = (maximum - new_maximum).exp()
weights = (scores - new_maximum[:, None]).exp()
output = (torch.ones(len(maximum)))[:, None] * output + weights @ values
total = rescaled * total + weights.sum(-1)
maximum = new_maximum

# %% the output is not divided by the total
# = output / total[:, None] => output

# %% the output is divided in every step, and not at the end
# = memory.store("O", start, output / total[:, None]) => memory.store("O", start, output)

# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
maximum, total, output = online_softmax(maximum, total, output, scores, values)
output = output / total[:, None]

# %% the output is divided in every step
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
maximum, total, output = online_softmax(maximum, total, output, scores, values)
output = output / total[:, None]

# fails flash_2_output_is_attention flash_2_takes_a_smaller_last_tile flash_2_hides_later_keys
#   flash_2_leaves_the_log_of_the_sum flash_2_keeps_no_tile

# %% the state goes on from one tile of queries to the next
# - for start, stop in tiles(memory.n_rows, tile_q):
# -     queries = memory.load("Q", start, stop)
# -     output, total = torch.zeros(stop - start, memory.head_dim), torch.zeros(stop - start)
# -     maximum = torch.full((stop - start,), -torch.inf)
output, total = torch.zeros(tile_q, memory.head_dim), torch.zeros(tile_q)
maximum = torch.full((tile_q,), -torch.inf)
for start, stop in tiles(memory.n_rows, tile_q):
    queries, n = memory.load("Q", start, stop), stop - start
    output, total, maximum = output[:n], total[:n], maximum[:n]

# %% the scores have no scale
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, is_causal) * memory.head_dim**0.5

# fails flash_2_leaves_the_log_of_the_sum

# %% the sum itself in L
# = maximum + total.log() => maximum.exp() * total

# %% L without the maximum
# = maximum + total.log() => total.log()

# %% the total is added, not its logarithm
# = total.log() => total

# %% the maximum alone in L
# = maximum + total.log() => maximum

# %% a logarithm of base 2 in L
# = total.log() => total.log2()

# fails flash_2_takes_a_smaller_last_tile

# %% keys of zeros in the last tile
# - values = memory.load("V", first_key, last_key)
values = memory.load("V", first_key, last_key)
missing = tile_kv - len(keys)
keys = torch.nn.functional.pad(keys, (0, 0, 0, missing))
values = torch.nn.functional.pad(values, (0, 0, 0, missing))

# %% the last, smaller tile of keys is dropped
# - for first_key, last_key in tiles(memory.n_rows, tile_kv):
for first_key in range(0, memory.n_rows // tile_kv * tile_kv, tile_kv):
    last_key = first_key + tile_kv

# %% the state has as many rows as a whole tile
# - output, total = torch.zeros(stop - start, memory.head_dim), torch.zeros(stop - start)
output, total = torch.zeros(tile_q, memory.head_dim), torch.zeros(tile_q)

# fails flash_2_hides_later_keys

# %% the mask forgets where the tiles begin
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, 0, 0, is_causal)

# %% the mask forgets where the tile of keys begins
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, 0, is_causal)

# %% whole tiles are skipped, but nothing is masked inside
# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, False)

# fails flash_2_hides_later_keys flash_2_skips_what_nobody_sees

# %% is_causal is not used
# - if is_causal and stop <= first_key:
# -     break

# - scores = tile_scores(queries, keys, start, first_key, is_causal)
scores = tile_scores(queries, keys, start, first_key, False)

# %% the tiles of the diagonal are skipped too
# = is_causal and stop <= first_key => is_causal and start <= first_key and first_key

# %% skipped if the last query sees one key
# = stop <= first_key => stop - 1 <= first_key

# fails flash_2_skips_what_nobody_sees

# %% pairs without a visible key are computed
# - if is_causal and stop <= first_key:
# -     break

# %% V comes before the pair is skipped
# - values = memory.load("V", first_key, last_key)

# - if is_causal and stop <= first_key:
# -     break
values = memory.load("V", first_key, last_key)
if is_causal and stop <= first_key:
    break

# fails flash_2_loads_no_more_than_needed

# %% Q comes again for every tile of keys
# - values = memory.load("V", first_key, last_key)
values = memory.load("V", first_key, last_key)
queries = memory.load("Q", start, stop)

# fails flash_2_loads_no_more_than_needed flash_2_stores_no_more_than_needed

# %% O goes to memory and comes back in every step
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
maximum, total, output = online_softmax(maximum, total, output, scores, values)
memory.store("O", start, output)
output = memory.load("O", start, stop)

# fails flash_2_stores_no_more_than_needed

# %% O is stored in every step
# - maximum, total, output = online_softmax(maximum, total, output, scores, values)
maximum, total, output = online_softmax(maximum, total, output, scores, values)
memory.store("O", start, output / total[:, None])

# %% O is cleared first
# - queries = memory.load("Q", start, stop)
memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
queries = memory.load("Q", start, stop)

# %% l and m are stored beside L
# - memory.store("L", start, maximum + total.log())
memory.store("L", start, maximum + total.log())
memory.store("l", start, total)
memory.store("m", start, maximum)

# fails flash_2_leaves_the_log_of_the_sum flash_2_stores_no_more_than_needed

# %% L is forgotten
# - memory.store("L", start, maximum + total.log())

# fails flash_2_fits_the_chip

# %% Q is loaded as a whole
# = memory.load("Q", start, stop) => all_queries[start:stop]

# - def flash_attention_2(
# -     memory: Memory,
# -     tile_q: int,
# -     tile_kv: int,
# -     is_causal: bool = False,
# - ) -> None:
def flash_attention_2(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    all_queries = memory.load("Q")

# %% the scores of a whole row, then one softmax
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in tiles(memory.n_rows, tile_q):
        queries, met = memory.load("Q", start, stop), []
        for first_key, last_key in tiles(memory.n_rows, tile_kv):
            if is_causal and stop <= first_key:
                break
            keys = memory.load("K", first_key, last_key)
            met.append((first_key, last_key, tile_scores(queries, keys, start, first_key, is_causal)))
        scores = torch.cat([each for *_, each in met], dim=1)
        weights, output = scores.softmax(-1), torch.zeros(stop - start, memory.head_dim)
        for first_key, last_key, _ in met:
            output += weights[:, first_key:last_key] @ memory.load("V", first_key, last_key)
        memory.store("O", start, output)
        memory.store("L", start, scores.logsumexp(-1))

# fails flash_2_loads_no_more_than_needed flash_2_skips_what_nobody_sees flash_2_fits_the_chip
#   flash_2_keeps_no_tile

# %% K and V are loaded once and kept
# - def flash_attention_2(
# -     memory: Memory,
# -     tile_q: int,
# -     tile_kv: int,
# -     is_causal: bool = False,
# - ) -> None:
def flash_attention_2(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    tiles_of = {}

# - keys = memory.load("K", first_key, last_key)
# - values = memory.load("V", first_key, last_key)
if first_key not in tiles_of:
    tiles_of[first_key] = [memory.load(name, first_key, last_key) for name in "KV"]
keys, values = tiles_of[first_key]

# fails flash_2_keeps_no_tile

# %% K is loaded, but its first copy used
# - def flash_attention_2(
# -     memory: Memory,
# -     tile_q: int,
# -     tile_kv: int,
# -     is_causal: bool = False,
# - ) -> None:
def flash_attention_2(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    copies = {}

# - scores = tile_scores(queries, keys, start, first_key, is_causal)
keys = copies.setdefault(first_key, keys)
scores = tile_scores(queries, keys, start, first_key, is_causal)

# fails flash_2_loads_no_more_than_needed flash_2_fits_the_chip flash_2_keeps_no_tile

# %% standard attention, as a whole
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
    memory.store("L", 0, scores.logsumexp(-1))
    memory.store("O", 0, scores.softmax(-1) @ memory.load("V"))

# %% one tile of all rows, whatever is asked
# - def flash_attention_2(
# -     memory: Memory,
# -     tile_q: int,
# -     tile_kv: int,
# -     is_causal: bool = False,
# - ) -> None:
def flash_attention_2(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    tile_q = tile_kv = memory.n_rows

# fails flash_2_loads_no_more_than_needed flash_2_keeps_no_tile

# %% tiles of one row, whatever is asked
# - def flash_attention_2(
# -     memory: Memory,
# -     tile_q: int,
# -     tile_kv: int,
# -     is_causal: bool = False,
# - ) -> None:
def flash_attention_2(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    tile_q = tile_kv = 1

# fails flash_2_leaves_the_log_of_the_sum

# %% L overflows
# = maximum + total.log() => (maximum.exp() * total).log()

# fails flash_2_leaves_the_log_of_the_sum

# %% L by rows of whole tiles
# = memory.store("L", start, maximum + total.log()) => memory.store("L", start, maximum + total.log()) if stop - start == tile_q else None

# fails flash_2_fits_the_chip

# %% tiles of keys of tile_q
# = tiles(memory.n_rows, tile_kv) => tiles(memory.n_rows, tile_q)
