"""Wrong answers to `sweep`: edits of the reference, or the whole answer."""

# fails each_point_is_measured_once_in_order

# %% a point without samples had no room
# - samples_s, outcome = measure(point), "ok"
samples_s = measure(point)
outcome = "ok" if samples_s else "out of memory"

# %% smallest first
# = for point in points: => for point in sorted(points):

# fails each_point_is_measured_once_in_order each_row_is_saved_before_the_next_point

# %% samples averaged
# = measure(point), "ok" => [statistics.fmean(measure(point))], "ok"

# %% measured twice, the second kept
# = measure(point), "ok" => (measure(point), measure(point))[1], "ok"

# fails each_point_is_measured_once_in_order out_of_memory_is_a_row_and_the_sweep_goes_on

# %% another word for a row that is fine
# = measure(point), "ok" => measure(point), "done"

# fails each_row_is_saved_before_the_next_point other_errors_pass_through

# %% saved at the end
def sweep(points, measure, save, free_memory, done=()):
    rows = []
    for point in points:
        if point in done:
            continue
        failed = False
        try:
            samples = measure(point)
        except MemoryError:
            failed = True
        rows.append((point, [], "out of memory") if failed else (point, samples, "ok"))
        if failed:
            free_memory()
    for row in rows:
        save(*row)

# fails each_row_is_saved_before_the_next_point

# %% saved at the end, whatever happens
def sweep(points, measure, save, free_memory, done=()):
    rows = []
    try:
        for point in points:
            if point in done:
                continue
            failed = False
            try:
                rows.append((point, measure(point), "ok"))
            except MemoryError:
                failed = True
            if failed:
                free_memory()
                rows.append((point, [], "out of memory"))
    finally:
        for row in rows:
            save(*row)

# fails out_of_memory_is_a_row_and_the_sweep_goes_on memory_is_freed_once_the_exception_is_gone

# %% stops where memory ends
# - free_memory()
break

# %% called ok where memory ends
# = samples_s, outcome = [], "out of memory" => samples_s, outcome = [], "ok"

# %% nothing is caught
# = except MemoryError: => except KeyError:

# fails out_of_memory_is_a_row_and_the_sweep_goes_on

# %% no row without memory
# - save(point, samples_s, outcome)
if outcome == "ok":
    save(point, samples_s, outcome)

# %% zero seconds where memory ends
# = samples_s, outcome = [], "out of memory" => samples_s, outcome = [0.0], "out of memory"

# fails memory_is_freed_once_the_exception_is_gone

# %% freed inside except
# - samples_s, outcome = [], "out of memory"
samples_s, outcome = [], "out of memory"
free_memory()

# - if outcome != "ok":
# -     free_memory()

# %% the exception is kept for later
# - try:
# -     samples_s, outcome = measure(point), "ok"
# - except MemoryError:
# -     samples_s, outcome = [], "out of memory"
try:
    samples_s, outcome = measure(point), "ok"
except MemoryError as error:
    samples_s, outcome = [], "out of memory"
    last_error = error

# %% never freed
# - free_memory()
pass

# %% freed once, at the end
def sweep(points, measure, save, free_memory, done=()):
    for point in points:
        if point in done:
            continue
        failed = False
        try:
            samples = measure(point)
        except MemoryError:
            failed = True
        save(point, [] if failed else samples, "out of memory" if failed else "ok")
    free_memory()

# fails finished_points_are_skipped

# %% everything again
# = point in done => False

# %% skips as many as are done
# - for point in points:
# -     if point in done:
# -         continue
# -     try:
# -         samples_s, outcome = measure(point), "ok"
# -     except MemoryError:
# -         samples_s, outcome = [], "out of memory"
for point in list(points)[len(done) :]:
    try:
        samples_s, outcome = measure(point), "ok"
    except MemoryError:
        samples_s, outcome = [], "out of memory"

# %% stops at the first that is done
# = continue => break

# fails other_errors_pass_through

# %% any error is taken for too little memory
# = except MemoryError: => except Exception:

# %% takes torch's other errors for a lack of memory
# = except MemoryError: => except (MemoryError, RuntimeError):

# %% goes on after any error, and raises it at the end
def sweep(points, measure, save, free_memory, done=()):
    broken = None
    for point in points:
        if point in done:
            continue
        try:
            samples, outcome = measure(point), "ok"
        except MemoryError:
            samples, outcome = [], "out of memory"
        except Exception as error:
            broken = error
            continue
        save(point, samples, outcome)
        if outcome != "ok":
            free_memory()
    if broken is not None:
        raise broken

# fails errors_of_save_pass_through

# %% saves inside try
# - try:
# -     samples_s, outcome = measure(point), "ok"
# - except MemoryError:
# -     samples_s, outcome = [], "out of memory"
# - save(point, samples_s, outcome)
outcome = "ok"
try:
    save(point, measure(point), "ok")
except MemoryError:
    outcome = "out of memory"
if outcome != "ok":
    save(point, [], outcome)
