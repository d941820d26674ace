"""Right answers to `fit_steps`, written differently."""

# %% lstsq, an array
def fit_steps(n_new, times_s):
    if min(n_new) == max(n_new):
        raise ValueError("one length")
    matrix = numpy.stack([numpy.ones(len(n_new)), numpy.array(n_new) - 1.0], axis=1)
    return numpy.linalg.lstsq(matrix, numpy.array(times_s), rcond=None)[0]

# %% torch in single precision
def fit_steps(n_new, times_s):
    if len(set(n_new)) < 2:
        raise ValueError("one length")
    matrix = torch.stack([torch.ones(len(n_new)), torch.tensor(n_new) - 1.0], dim=1)
    return torch.linalg.lstsq(matrix, torch.tensor(times_s)[:, None]).solution.flatten()

# %% statistics.linear_regression, read off at one token
def fit_steps(n_new, times_s):
    if len({*n_new}) == 1:
        raise ValueError("one length")
    line = statistics.linear_regression(n_new, times_s)
    return line.intercept + line.slope, line.slope
