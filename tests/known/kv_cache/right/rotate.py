"""Right answers to `rotate`, written differently."""

# %% cos and sin of all D numbers, and a half that changes its sign
def rotate(x, positions, base=10_000.0):
    n = x.shape[-1]
    rates = 1.0 / base ** (torch.arange(0, n, 2).float() / n)
    angles = torch.outer(positions.float(), rates).repeat(1, 2)
    first, second = x.float().chunk(2, dim=-1)
    swapped = torch.cat((-second, first), dim=-1)
    return (x.float() * angles.cos() + swapped * angles.sin()).to(x.dtype)

# %% complex numbers in double precision
def rotate(x, positions, base=10_000.0):
    a, b = x.double().tensor_split(2, dim=-1)
    pairs = torch.complex(a, b)
    rates = torch.tensor([float(base) ** (-2 * i / x.shape[-1]) for i in range(a.shape[-1])])
    turns = torch.exp(1j * positions.double()[:, None] * rates.double())
    turned = pairs * turns
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)

# %% pair by pair into an empty tensor
def rotate(x, positions, base=10_000.0):
    result, half = torch.empty_like(x), x.shape[-1] // 2
    for i in range(half):
        angle = positions.to(torch.float32) * base ** (-i / half)
        cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
        result[..., i] = x[..., i] * cos - x[..., half + i] * sin
        result[..., half + i] = x[..., i] * sin + x[..., half + i] * cos
    return result

# %% a matrix for each token
def rotate(x, positions, base=10_000.0):
    half = x.size(-1) // 2
    log_rates = torch.linspace(0, -1, half + 1)[:half] * torch.log(torch.tensor(float(base)))
    angles = positions.unsqueeze(-1) * log_rates.exp()
    cos, sin = torch.diag_embed(angles.cos()), torch.diag_embed(angles.sin())
    top, bottom = torch.cat([cos, -sin], dim=-1), torch.cat([sin, cos], dim=-1)
    turn = torch.cat([top, bottom], dim=-2)
    return torch.einsum("qij,bhqj->bhqi", turn, x.float()).type_as(x)
