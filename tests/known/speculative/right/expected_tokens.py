"""Right answers to `expected_tokens`, written differently."""

# %% the closed form, with a case for alpha 1
def expected_tokens(alpha, gamma):
    if not 0 <= alpha <= 1 or gamma < 0:
        raise ValueError(f"alpha {alpha}, gamma {gamma}")

    if alpha == 1:
        return gamma + 1
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)

# %% the closed form, near 1 too, where differences cancel
import math

def expected_tokens(alpha, gamma):
    if not 0 <= alpha <= 1 or gamma < 0:
        raise ValueError(f"alpha {alpha}, gamma {gamma}")

    if math.isclose(alpha, 1.0, abs_tol=1e-7):
        return float(gamma + 1)
    if alpha == 0:
        return 1.0
    return math.expm1((gamma + 1) * math.log(alpha)) / math.expm1(math.log(alpha))

# %% the closed form in single precision
def expected_tokens(alpha, gamma):
    if not 0 <= alpha <= 1 or gamma < 0:
        raise ValueError(f"alpha {alpha}, gamma {gamma}")

    alpha = torch.tensor(alpha, dtype=torch.float32)
    if alpha == 1:
        return torch.tensor(gamma + 1.0)
    return (1 - alpha.pow(gamma + 1)) / (1 - alpha)

# %% from the last token to the first
def expected_tokens(alpha, gamma):
    if not 0 <= alpha <= 1 or gamma < 0:
        raise ValueError(f"alpha {alpha}, gamma {gamma}")

    tokens = 1.0
    for _ in range(gamma):
        tokens = 1 + alpha * tokens
    return tokens
