"""Wrong answers to `slopes`: edits of the reference, or the whole answer."""

# fails slopes_are_rises_over_runs

# %% rises alone
# = (t_long - t) / (n_long - n) => t_long - t

# fails slopes_are_rises_over_runs the_order_of_points_does_not_matter

# %% time by length
# = (t_long - t) / (n_long - n) => t_long / n_long

# %% tokens per second
# = (t_long - t) / (n_long - n) => (n_long - n) / (t_long - t)

# %% from the first point
def slopes(n_new, times_s):
    if len(n_new) != len(times_s) or len(set(n_new)) != len(n_new) or len(n_new) < 2:
        raise ValueError("not like that")
    (n, t), *others = sorted(zip(n_new, times_s))
    return [(other_t - t) / (other_n - n) for other_n, other_t in others]

# fails the_order_of_points_does_not_matter

# %% as they were handed over
# = sorted(zip(n_new, times_s, strict=True)) => list(zip(n_new, times_s, strict=True))

# %% lengths sorted without their times
# = sorted(zip(n_new, times_s, strict=True)) => list(zip(sorted(n_new), times_s, strict=True))

# %% lengths and times sorted apart
# - points = sorted(zip(n_new, times_s, strict=True))
points = list(zip(sorted(n_new), sorted(times_s), strict=True))

# fails what_has_no_slope_is_refused

# %% refuses nothing
def slopes(n_new, times_s):
    points = sorted(zip(n_new, times_s))
    return [(u - t) / ((m - n) or 1) for (n, t), (m, u) in zip(points, points[1:])]

# fails what_has_no_slope_is_refused slopes_are_rises_over_runs

# %% two lengths are too few
# = len(n_new) < 2 => len(n_new) < 3
