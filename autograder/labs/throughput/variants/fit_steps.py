"""Right answers to `fit_steps`, written differently."""

# %% least squares by hand, a list
def fit_steps(n_new, times_s):
    steps = [n - 1 for n in n_new]
    mean_n, mean_t = sum(steps) / len(steps), sum(times_s) / len(steps)
    spread = sum((n - mean_n) ** 2 for n in steps)
    if spread == 0:
        raise ValueError("one length")
    step = sum((n - mean_n) * (t - mean_t) for n, t in zip(steps, times_s)) / spread
    return [mean_t - step * mean_n, step]

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
