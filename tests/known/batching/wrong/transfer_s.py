"""Wrong answers to `transfer_s`: edits of the reference, or the whole answer."""

# fails every_byte_passes_the_link

# %% bits
def transfer_s(n_tokens: int, bytes_per_token: int, bandwidth: float, latency_s: float) -> float:
    return latency_s + 8 * n_tokens * bytes_per_token / bandwidth

# %% one token
def transfer_s(n_tokens: int, bytes_per_token: int, bandwidth: float, latency_s: float) -> float:
    return latency_s + bytes_per_token / bandwidth

# %% there and back
def transfer_s(n_tokens: int, bytes_per_token: int, bandwidth: float, latency_s: float) -> float:
    return latency_s + 2 * n_tokens * bytes_per_token / bandwidth

# fails the_latency_comes_once

# %% a latency for each token
def transfer_s(n_tokens: int, bytes_per_token: int, bandwidth: float, latency_s: float) -> float:
    return latency_s * n_tokens + n_tokens * bytes_per_token / bandwidth

# %% the longer of the two
def transfer_s(n_tokens: int, bytes_per_token: int, bandwidth: float, latency_s: float) -> float:
    return max(latency_s, n_tokens * bytes_per_token / bandwidth)

# fails every_byte_passes_the_link the_latency_comes_once

# %% milliseconds
def transfer_s(n_tokens: int, bytes_per_token: int, bandwidth: float, latency_s: float) -> float:
    return 1e3 * (latency_s + n_tokens * bytes_per_token / bandwidth)

# %% latency and bytes multiplied
def transfer_s(n_tokens: int, bytes_per_token: int, bandwidth: float, latency_s: float) -> float:
    return latency_s * n_tokens * bytes_per_token / bandwidth
