"""Wrong answers to `offload_step_s`: edits of the reference, or the whole answer."""

# fails transfers_in_turn_add_up

# %% all of it from the card as well
# = resident_s + link_s => moved_bytes / bandwidth + link_s

# %% always overlapping
# = max(resident_s, link_s) if overlap else resident_s + link_s => max(resident_s, link_s)

# fails overlapping_transfers_take_the_longer

# %% never overlapping
# = max(resident_s, link_s) if overlap else resident_s + link_s => resident_s + link_s

# %% the link alone
# = max(resident_s, link_s) => link_s

# fails transfers_in_turn_add_up overlapping_transfers_take_the_longer

# %% overlap the other way round
# - return max(resident_s, link_s) if overlap else resident_s + link_s
return resident_s + link_s if overlap else max(resident_s, link_s)

# %% bandwidths changed places
# - link_s = offloaded_bytes / link_bandwidth
link_s, resident_s = offloaded_bytes / bandwidth, resident_s * bandwidth / link_bandwidth

# fails only_what_is_moved_can_be_offloaded

# %% refuses nothing
# = not 0 <= offloaded_bytes <= moved_bytes => False

# %% refuses too much alone
# = not 0 <= offloaded_bytes <= moved_bytes => offloaded_bytes > moved_bytes

# fails transfers_in_turn_add_up overlapping_transfers_take_the_longer
#   only_what_is_moved_can_be_offloaded

# %% refuses all of it
# = 0 <= offloaded_bytes <= moved_bytes => 0 < offloaded_bytes < moved_bytes

# fails overlapping_transfers_take_the_longer

# %% with overlap, the GPU's memory alone
# = max(resident_s, link_s) if overlap => resident_s if overlap
