"""Wrong answers to `kv_bytes_per_token`: edits of the reference, or the whole answer."""

# fails counts_the_heads_that_are_stored cached_numbers_may_be_narrower_or_wider

# %% query heads
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_layers * shape.n_heads * shape.head_dim * bytes_per_number

# fails counts_the_heads_that_are_stored

# %% query heads at the default width only
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_layers * shape.head_dim * bytes_per_number * (
        shape.n_heads if bytes_per_number == 2 else shape.n_kv_heads
    )

# fails takes_the_width_of_a_head_as_given

# %% d_model divided among the heads
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_layers * shape.n_kv_heads * (shape.d_model // shape.n_heads) * bytes_per_number

# fails counts_the_heads_that_are_stored takes_the_width_of_a_head_as_given
#   cached_numbers_may_be_narrower_or_wider

# %% d_model in place of what is stored
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_layers * shape.d_model * bytes_per_number

# %% keys without values
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number

# %% one layer
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_kv_heads * shape.head_dim * bytes_per_number

# fails cached_numbers_may_be_narrower_or_wider

# %% always 2 bytes
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * 2

# fails counts_the_heads_that_are_stored takes_the_width_of_a_head_as_given
#   cached_numbers_may_be_narrower_or_wider

# %% queries kept as well
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 3 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number

# %% query heads at 4 bytes
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_layers * shape.n_heads * shape.head_dim * 4

# %% bits
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number * 8

# %% keys and values counted twice
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 4 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number

# %% query heads without values
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return shape.n_layers * shape.n_heads * shape.head_dim * bytes_per_number

# %% training's sixteen bytes
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return 16 * shape.n_layers * shape.n_kv_heads * shape.head_dim

# %% prints instead of returning
def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    return print(2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number)
