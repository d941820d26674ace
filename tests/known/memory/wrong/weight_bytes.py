"""Wrong answers to `weight_bytes`: edits of the reference, or the whole answer."""

# fails every_parameter_takes_its_bytes large_counts_stay_exact

# %% bits for bytes
def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    return n_params * bytes_per_param * 8

# %% gigabytes
def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    return n_params * bytes_per_param / 1e9

# %% prints instead of returning
def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    n_params * bytes_per_param

# %% the open cases learnt by heart
def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    return {(7_000_000_000, 2): 14_000_000_000}.get((n_params, bytes_per_param), 497_759_232)

# fails every_parameter_takes_its_bytes

# %% 2 bytes whatever is asked
def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    return n_params * 2

# fails large_counts_stay_exact

# %% floats on the way
def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    return int(float(n_params) * bytes_per_param)

# fails every_parameter_takes_its_bytes

# %% 4 bytes by default
# = bytes_per_param: int = 2 => bytes_per_param: int = 4
