"""Wrong answers to `largest_model`: edits of the reference, or the whole answer."""

# fails weights_fill_what_the_overhead_leaves wider_parameters_leave_room_for_fewer

# %% overhead charged per byte of a parameter
# - return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))
return max(0, int(vram_bytes // bytes_per_param - overhead_bytes))

# fails weights_fill_what_the_overhead_leaves wider_parameters_leave_room_for_fewer
#   a_full_card_holds_no_parameters

# %% overhead ignored
# = (vram_bytes - overhead_bytes) => vram_bytes

# fails wider_parameters_leave_room_for_fewer

# %% always 2 bytes
# = (vram_bytes - overhead_bytes) // bytes_per_param => (vram_bytes - overhead_bytes) // 2

# fails a_parameter_fits_whole_or_not_at_all

# %% divides in floats
# - return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))
return max(0, int((vram_bytes - overhead_bytes) / bytes_per_param))

# fails weights_fill_what_the_overhead_leaves a_parameter_fits_whole_or_not_at_all
#   a_full_card_holds_no_parameters

# %% rounds to the nearest
# - return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))
return max(0, -(-(vram_bytes - overhead_bytes) // bytes_per_param))

# fails a_full_card_holds_no_parameters

# %% negative models
# - return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))
return (vram_bytes - overhead_bytes) // bytes_per_param

# fails refuses_parameters_without_width

# %% a parameter of no bytes divides by zero
# = bytes_per_param <= 0 => bytes_per_param < 0

# fails weights_fill_what_the_overhead_leaves wider_parameters_leave_room_for_fewer
#   a_parameter_fits_whole_or_not_at_all

# %% billions
# - return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))
return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param)) / 1e9

# fails weights_fill_what_the_overhead_leaves wider_parameters_leave_room_for_fewer
#   a_parameter_fits_whole_or_not_at_all a_full_card_holds_no_parameters

# %% multiplies
# - return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))
return max(0, (vram_bytes - overhead_bytes) * bytes_per_param)

# fails refuses_parameters_without_width

# %% refuses 0 alone
# = bytes_per_param <= 0 => bytes_per_param == 0
