"""Right answers to `sweep`, written differently."""

# %% else and a flag
def sweep(points, measure, save, free_memory, done=()):
    for point in points:
        if point not in done:
            failed = False
            try:
                samples = measure(point)
            except MemoryError:
                failed = True
            else:
                save(point, samples, "ok")
            if failed:
                free_memory()
                save(point, [], "out of memory")

# %% an inner function returns a row, done as a set, tuples for samples
def sweep(points, measure, save, free_memory, done=frozenset()):
    finished = {tuple(each) for each in done}

    def row_of(point):
        try:
            return tuple(measure(point)), "ok"
        except MemoryError:
            return (), "out of memory"

    for point in list(points):
        if tuple(point) in finished:
            continue
        samples, outcome = row_of(point)
        save(point, samples, outcome)
        if outcome == "out of memory":
            free_memory()

# %% filtered first, the exception let go by hand, memory freed before every point
def sweep(points, measure, save, free_memory, done=()):
    for point in filter(lambda each: each not in done, points):
        free_memory()
        caught = None
        try:
            samples = measure(point)
        except MemoryError as error:
            caught = error
        if caught is None:
            save(point, samples, "ok")
        else:
            caught = None
            free_memory()
            save(point, [], "out of memory")
