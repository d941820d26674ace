"""Wrong answers to `count_operations`: edits of the reference, or the whole answer."""

# fails each_operation_is_counted_by_its_name

# %% each name once
# = counts[str(func)] += 1 => counts[str(func)] = 1

# %% views are left out
# - counts[str(func)] += 1
if not func.is_view:
    counts[str(func)] += 1

# %% names without the overload
# = counts[str(func)] => counts[str(func.overloadpacket)]

# %% operations as keys
# = counts[str(func)] => counts[func]

# %% each operation twice
# = counts[str(func)] += 1 => counts[str(func)] += 2

# %% the last part of the name
# = counts[str(func)] => counts[str(func).split(".")[1]]

# fails the_program_computes_the_same

# %% keyword arguments are lost
# = func(*args, **(kwargs or {})) => func(*args)

# %% a run before, to warm up
# - counts: Counter[str] = Counter()
run()
counts = Counter()

# %% gradients are switched off
# = with Counting(): => with torch.no_grad(), Counting():

# %% each operation is computed twice
# = return func(*args, **(kwargs or {})) => return [func(*args, **(kwargs or {})) for _ in "ab"][1]

# fails an_error_of_the_program_reaches_the_caller

# %% an error leaves the mode on
# - with Counting():
# -     run()
mode = Counting()
mode.__enter__()
run()
mode.__exit__(None, None, None)

# fails only_this_run_counts an_error_of_the_program_reaches_the_caller

# %% the mode is never left
# - with Counting():
# -     run()
Counting().__enter__()
run()

# fails each_operation_is_counted_by_its_name only_this_run_counts

# %% one number for all
# = return counts => return counts.total()

# %% a counter that is never emptied
seen = Counter()

class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen[str(func)] += 1
        return func(*args, **(kwargs or {}))

def count_operations(run):
    with Watch():
        run()
    return Counter(seen)

# %% the same counter for every caller
seen = Counter()

class Watch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen[str(func)] += 1
        return func(*args, **(kwargs or {}))

def count_operations(run):
    with Watch():
        run()
    return seen

# fails an_error_of_the_program_reaches_the_caller

# %% errors are swallowed
# - with Counting():
# -     run()
with Counting():
    try:
        run()
    except Exception:
        pass

# fails each_operation_is_counted_by_its_name the_program_computes_the_same
#   only_this_run_counts an_error_of_the_program_reaches_the_caller

# %% nothing runs
def count_operations(run):
    return Counter({"aten.mm.default": 2})

# %% a result is not returned
def count_operations(run):
    counts = Counter()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            counts[str(func)] += 1
            func(*args, **(kwargs or {}))

    with Counting():
        run()
    return counts

# fails each_operation_is_counted_by_its_name the_program_computes_the_same only_this_run_counts
#   an_error_of_the_program_reaches_the_caller

# %% a mode that is made and never entered
def count_operations(run):
    counts = Counter()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            counts[str(func)] += 1
            return func(*args, **(kwargs or {}))

    Counting()
    return counts
