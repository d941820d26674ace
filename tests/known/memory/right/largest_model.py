"""Right answers to `largest_model`, written differently."""

# %% guard first
def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    if not bytes_per_param > 0:
        raise ValueError("no width")
    if overhead_bytes >= vram_bytes:
        return 0
    return (vram_bytes - overhead_bytes) // bytes_per_param

# %% divmod
def largest_model(vram, overhead=0, width=2):
    if width < 1:
        raise ValueError(f"width {width}")
    fits, _ = divmod(max(vram - overhead, 0), width)
    return fits

# %% fractions and floor, as a tensor
from fractions import Fraction
from math import floor

def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    if bytes_per_param <= 0:
        raise ValueError("a parameter needs bytes")
    n = floor(Fraction(vram_bytes - overhead_bytes, bytes_per_param))
    return torch.tensor(n if n > 0 else 0)
