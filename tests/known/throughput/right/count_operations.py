"""Right answers to `count_operations`, written differently."""

# %% a class outside, which has the counts
class Dispatches(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.by_name = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs={}):
        self.by_name.update([str(func)])
        return func(*args, **kwargs)

def count_operations(run):
    with Dispatches() as mode:
        run()
    return mode.by_name

# %% a dict, and a mode that is left in a finally
def count_operations(run):
    names = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args) if kwargs is None else func(*args, **kwargs)
            names.append(str(func))
            return result

    mode = Names()
    mode.__enter__()
    try:
        run()
    finally:
        mode.__exit__(None, None, None)
    counts = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts

# %% a counter of the module that is emptied, and a copy
seen = Counter()

class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen[f"{func}"] += 1
        return func(*args, **(kwargs or {}))

def count_operations(run):
    seen.clear()
    with Watch():
        run()
    return Counter(dict(seen))
