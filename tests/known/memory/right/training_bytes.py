"""Right answers to `training_bytes`, written differently."""

# %% a loop
def training_bytes(n_params, recipe):
    total = 0
    for name in recipe:
        total += n_params * recipe[name]
    return total

# %% NumPy
import numpy

def training_bytes(n_params, recipe):
    return numpy.array(list(recipe.values())).sum() * n_params

# %% a float
def training_bytes(n_params, recipe):
    return float(n_params * sum(width for _, width in recipe.items()))
