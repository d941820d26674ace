"""Right answers to `time_runs`, written differently."""

# %% other names, a tuple, one loop
def time_runs(work, now, wait, cold, kept):
    if cold < 0 or kept <= 0:
        raise ValueError(f"{cold} and {kept} are no counts")
    found = ()
    for i in range(cold + kept):
        wait()
        if i < cold:
            work()
            continue
        start = now()
        work()
        wait()
        found += (now() - start,)
    return found

# %% one reading ends a sample and begins the next
def time_runs(run, read_clock, synchronize, n_warmup, n_repeats):
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError("counts")
    for _ in range(n_warmup):
        run()
        synchronize()
    synchronize()
    readings = [read_clock()]
    while len(readings) <= n_repeats:
        run()
        synchronize()
        readings.append(read_clock())
    return numpy.diff(readings)

# %% an inner function, a tensor
def time_runs(run, read_clock, synchronize, n_warmup=1, n_repeats=3):
    if not (n_warmup >= 0 and n_repeats > 0):
        raise ValueError("counts")

    def once():
        synchronize()
        synchronize()
        begin = read_clock()
        run()
        synchronize()
        return read_clock() - begin

    [run() for _ in range(n_warmup)]
    return torch.tensor([once() for _ in range(n_repeats)], dtype=torch.float64)
