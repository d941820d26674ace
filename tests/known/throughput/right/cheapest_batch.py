"""Right answers to `cheapest_batch`, written differently."""

# %% all prices in a list
def cheapest_batch(step_s, dollars_per_hour, most_tpot_s):
    prices = []
    for n, seconds in step_s.items():
        if seconds <= most_tpot_s:
            tokens_per_hour = n / seconds * 3600
            prices.append((dollars_per_hour / tokens_per_hour * 1_000_000, n))
    if not prices:
        raise ValueError("too slow")
    price, n = min(prices)
    return n, price

# %% the highest throughput, in a loop
def cheapest_batch(step_s, dollars_per_hour, most_tpot_s):
    best, rate = None, 0.0
    for n in sorted(step_s):
        if step_s[n] > most_tpot_s:
            continue
        if n / step_s[n] > rate:
            best, rate = n, n / step_s[n]
    if best is None:
        raise ValueError("no batch size is fast enough")
    return [best, 1e6 * dollars_per_hour / (3600 * rate)]

# %% sorted, the minimum of nothing raises
def cheapest_batch(step_s, dollars_per_hour, most_tpot_s):
    fast = {n: s for n, s in step_s.items() if not s > most_tpot_s}
    n = sorted(fast, key=lambda n: (fast[n] / n, n))
    if len(n) == 0:
        raise ValueError(most_tpot_s)
    return n[0], fast[n[0]] * 1e6 / n[0] * dollars_per_hour / 60 / 60
