"""Wrong answers to `rotate`: edits of the reference, or the whole answer."""

# fails pairs_of_halves_are_turned_by_their_angles each_token_is_turned_by_its_own_position
#   the_base_decides_how_slowly_pairs_turn angles_are_exact_at_large_positions

# %% pairs for halves
# = x[..., :half], x[..., half:] => x[..., 0::2], x[..., 1::2]

# - return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)

# %% pairs for halves, returned in halves
# = x[..., :half], x[..., half:] => x[..., 0::2], x[..., 1::2]

# %% turns the wrong way
# = [a * cos - b * sin, a * sin + b * cos] => [a * cos + b * sin, b * cos - a * sin]

# %% both sines with a plus
# = a * cos - b * sin => a * cos + b * sin

# %% the exponent is -i/D
# = torch.arange(half, device=x.device) / half => torch.arange(half) / x.shape[-1]

# %% the exponent has no minus
# = base ** (-torch.arange(half, device=x.device) / half) => base ** (torch.arange(half) / half)

# %% all pairs turn by the same angle
# = base ** (-torch.arange(half, device=x.device) / half) => torch.ones(half)

# %% exponents from -2/D
# = -torch.arange(half, device=x.device) / half => -torch.arange(1, half + 1) / half

# %% exponents from 0 to -1
# = -torch.arange(half, device=x.device) / half => -torch.linspace(0, 1, half)

# %% positions from 1
# = positions.float() => (positions + 1).float()

# %% swaps sine and cosine
# = angles.cos().to(x.dtype), angles.sin().to(x.dtype) => angles.sin(), angles.cos()

# - a, b = x[..., :half], x[..., half:]
cos, sin = cos.to(x.dtype), sin.to(x.dtype)
a, b = x[..., :half], x[..., half:]

# fails each_token_is_turned_by_its_own_position the_base_decides_how_slowly_pairs_turn
#   angles_are_exact_at_large_positions

# %% counts positions from 0
# = positions.float() => torch.arange(x.shape[2]).float()

# %% counts positions from the first one
# = positions.float() => (positions[0] + torch.arange(x.shape[2])).float()

# fails the_base_decides_how_slowly_pairs_turn

# %% ignores the base
# = base ** (-torch => 10_000.0 ** (-torch

# fails angles_are_exact_at_large_positions

# %% angles in the precision of x
# = positions.float() => positions.to(x.dtype)
# = torch.arange(half, device=x.device) / half) => torch.arange(half) / half).to(x.dtype)

# fails the_dtype_is_that_of_x

# %% returns float32
# = angles.cos().to(x.dtype), angles.sin().to(x.dtype) => angles.cos(), angles.sin()

# fails x_stays_as_it_is

# %% writes the result into x
# - return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
turned = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
return x.copy_(turned)
