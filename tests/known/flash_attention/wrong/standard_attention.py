"""Wrong answers to `standard_attention`: edits of the reference, or the whole answer."""

# fails standard_output_is_attention

# %% always masked
# - scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, True)

# fails standard_hides_later_keys

# %% never masked
# - scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, False)

# fails standard_output_is_attention standard_hides_later_keys

# %% no scale
# - scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal) * memory.head_dim**0.5

# fails standard_output_is_attention standard_hides_later_keys standard_weights_are_written
#   standard_steps_use_what_they_load

# %% softmax over the queries
# = dim=-1 => dim=0

# fails standard_weights_are_written

# %% P not divided by its sums
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
# - memory.store("O", 0, memory.load("P").float() @ memory.load("V").float())
memory.store("P", 0, memory.load("S").exp())
weights = memory.load("P")
memory.store("O", 0, weights @ memory.load("V") / weights.sum(-1, keepdim=True))

# fails standard_loads_what_each_step_needs

# %% S loaded twice, for the maximum and for the softmax
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
largest = memory.load("S").amax(-1, keepdim=True)
memory.store("P", 0, (memory.load("S") - largest).softmax(-1))

# fails standard_loads_what_each_step_needs standard_steps_use_what_they_load

# %% S and P stay on the chip and are not loaded
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
# - memory.store("O", 0, memory.load("P").float() @ memory.load("V").float())
weights = scores.softmax(-1)
memory.store("P", 0, weights)
memory.store("O", 0, weights @ memory.load("V"))

# fails standard_loads_what_each_step_needs standard_stores_what_each_step_makes
#   standard_steps_use_what_they_load

# %% S is never written
# - memory.store("S", 0, scores)
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
memory.store("P", 0, scores.softmax(-1))

# fails standard_stores_what_each_step_makes

# %% O is cleared first
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
memory.store("O", 0, torch.zeros(memory.n_rows, memory.head_dim))
memory.store("P", 0, memory.load("S").float().softmax(dim=-1))

# %% S is stored again after the softmax
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
weights = memory.load("S").softmax(-1)
memory.store("S", 0, weights)
memory.store("P", 0, weights)

# fails standard_steps_use_what_they_load

# %% loaded, but the old copies used
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
memory.load("S")
memory.store("P", 0, scores.softmax(-1))

# %% only P is used as it was kept
# - memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
# - memory.store("O", 0, memory.load("P").float() @ memory.load("V").float())
weights = memory.load("S").softmax(-1)
memory.store("P", 0, weights)
memory.load("P")
memory.store("O", 0, weights @ memory.load("V"))
