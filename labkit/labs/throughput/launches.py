"""What a pass launches, and its time: whole, with thin layers, and as a CUDA graph; by batch.

Compared settings are timed in turns. The kit's own models have their weights, others random ones.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labkit import zoo
from labkit.engine.captured import captured
from labkit.labs.throughput.energy import joules_of
from labkit.labs.throughput.steps import WIDTH, launched, pass_of, thin_model
from labkit.measuring.device import free_device_memory, rows_in_room
from labkit.measuring.profiles import PROFILES, MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns
from labkit.models.cached import as_if_eager
from labkit.models.tiny import facts_of

EAGER, GRAPH = "eager", "CUDA graph"
THIN = f", width {WIDTH}"  # after the name of a model
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
Runs = list[tuple[Row, Callable[[], Any]]]
Count = Callable[[Callable[[], Any]], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of pass that the lab asks about: a model, and what is fed to it."""

    role: str
    batch_size: int
    n_fed: int = 1
    n_cached: int = 0


def cases_of(profile: MachineProfile) -> dict[str, Case]:
    """The passes whose time the lab explains, by name."""
    n, n_prompt = profile.sweep_batch_size, 512 if profile.device == "cpu" else 4096
    return {
        "decode_one": Case("sweep-medium", 1, n_cached=64),
        "decode_medium_model": Case("sweep-medium", n, n_cached=64),
        "decode_small_model": Case("sweep-small", n, n_cached=64),
        "decode_older_model": Case("sweep-older", n, n_cached=64),
        "prefill": Case("sweep-medium", 1, n_prompt),
        "forward_sixteen": Case("forward", 16, 256),
    }


def operations(
    profile: MachineProfile, count: Count, *, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Operations of a decode step of each model of the sweeps and pairs, without its weights.

    setting: the dtype, for norms in 16 bits convert their numbers. counts has layers; operations
    and views of one layer (what four layers have more than three); outside, operations of the rest.
    count: gives how often each operation is dispatched, as `labkit.throughput.count_operations`.
    """
    for each in PROFILES.values():
        names = [each.roles[f"sweep-{size}"] for size in ("small", "medium", "older")]
        names += [name for pair in each.pairs for name in zoo.PAIRS[pair]]
        for name in dict.fromkeys(names):
            row = Row("operations", name, 1, 1, 0, True, outcome="counted", setting=each.dtype)
            if not is_done(row.key):
                yield from rows_in_room([row], partial(_counted, row, count))


def _counted(row: Row, count: Count) -> Iterator[Row]:
    yield replace(row, counts=counts_of(row.model, row.setting, count))


def counts_of(name: str, dtype: str, count: Count) -> dict[str, int]:
    """What a decode step of a model dispatches; see `operations`."""
    three, four = (launched(count(pass_of(thin_model(name, n, dtype=dtype)))) for n in (3, 4))
    of_layer = four[0] - three[0]
    return {
        "layers": facts_of(name)["num_hidden_layers"],
        "operations": of_layer,
        "views": four[1] - three[1],
        "outside": three[0] - 3 * of_layer,
    }


def launches(
    profile: MachineProfile,
    count: Count,
    *,
    n_samples: int = 10,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Seconds of each pass of `cases_of`, and of thin ones: the same operations, and little else.

    A thin pass has the same layers with a width of 16, one sequence and one token. Settings:
    "eager", and on a GPU "CUDA graph", which dispatches nothing. n_input: tokens fed. counts:
    n_cached, and operations of the pass without views.
    """
    by_role: dict[str, list[Case]] = {}
    for case in cases_of(profile).values():
        by_role.setdefault(case.role, []).append(case)
    for role, cases in by_role.items():
        rows = [row for each in cases for row in _rows_of(profile, each)]
        rows += [row for each in _least(cases) for row in _rows_of(profile, each, THIN)]
        if not all(is_done(row.key) for row in rows):
            measure = partial(_timed, profile, count, role, cases, n_samples)
            yield from rows_in_room(rows, measure)
            free_device_memory()


def decode_by_batch(
    profile: MachineProfile,
    sizes: Sequence[int] = BATCH_SIZES,
    *,
    n_samples: int = 10,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Seconds of a decode step by batch size, after 64 cached tokens on a CPU and 512 on a GPU.

    Settings as of `launches`. counts: n_cached; joules of a step where the driver counts them.
    """
    n_cached = 64 if profile.device == "cpu" else 512
    cases = [Case("sweep-medium", n, n_cached=n_cached) for n in sizes]
    rows = {each: _rows_of(profile, each, experiment="decode_by_batch") for each in cases}
    left = {each: own for each, own in rows.items() if not all(is_done(row.key) for row in own)}
    if left:
        wanted = [row for own in left.values() for row in own]
        yield from rows_in_room(wanted, partial(_by_batch, profile, left, n_samples))


def _by_batch(
    profile: MachineProfile, left: Mapping[Case, list[Row]], n_samples: int
) -> Iterator[Row]:
    model = zoo.load_for_timing("sweep-medium", profile).model
    for case, rows in left.items():
        yield from rows_in_room(rows, partial(_of_batch, profile, rows, case, model, n_samples))
        free_device_memory()


def _of_batch(
    profile: MachineProfile, rows: list[Row], case: Case, model: Any, n_samples: int
) -> Iterator[Row]:
    yield from _in_turns(profile, _runs_of(rows, case, model), n_samples)


def _least(cases: Sequence[Case]) -> list[Case]:
    """The kinds of pass among these, with as few tokens as there can be."""
    return [Case(cases[0].role, 1, n_cached=n) for n in sorted({min(1, c.n_cached) for c in cases})]


def _rows_of(
    profile: MachineProfile, case: Case, addition: str = "", experiment: str = "launches"
) -> list[Row]:
    """The row of a pass by each setting. addition: after the model's name."""
    place = (case.batch_size, case.n_fed, 0, case.n_cached > 0)
    row = Row(
        experiment, profile.roles[case.role] + addition, *place,
        outcome="-", setting=EAGER, counts={"n_cached": case.n_cached},
    )  # fmt: skip
    return [row] if profile.device == "cpu" else [row, replace(row, setting=GRAPH)]


def _timed(
    profile: MachineProfile, count: Count, role: str, cases: Sequence[Case], n_samples: int
) -> Iterator[Row]:
    """The rows of one model: each case, and each kind of pass with tensors of next to no size."""
    loaded = zoo.load_for_timing(role, profile)
    thin = thin_model(loaded.name, device=profile.device, dtype=profile.dtype)
    runs: Runs = []
    for case in cases:
        runs += _runs_of(_rows_of(profile, case), case, loaded.model)
    for least in _least(cases):
        runs += _runs_of(_rows_of(profile, least, THIN), least, thin)
    counted = {row.key: launched(count(run))[0] for row, run in runs if row.setting == EAGER}
    for row in _in_turns(profile, runs, n_samples):
        n_launched = counted[replace(row, setting=EAGER).key]
        yield replace(row, counts={**row.counts, "operations": n_launched})


def _runs_of(rows: list[Row], case: Case, model: Any) -> Runs:
    """The pass by the setting of each row, beside it."""
    run = pass_of(model, case.batch_size, case.n_fed, case.n_cached)
    return [(row, captured(as_if_eager(run)) if row.setting == GRAPH else run) for row in rows]


def _in_turns(profile: MachineProfile, runs: Runs, n_samples: int) -> Iterator[Row]:
    n_passes = 5 if profile.device == "cuda" else 2  # of a sample
    repeated = {row.key: partial(_repeat, run, n_passes) for row, run in runs}
    timings = time_in_turns(repeated, n_samples, n_warmup=2)
    for row, run in runs:
        counts = dict(row.counts)
        if row.experiment == "decode_by_batch" and (joules := joules_of(run)) is not None:
            counts["joules"] = joules
        samples_s = [sample / n_passes for sample in timings[row.key].samples_s]
        yield measured(row, samples_s, counts)


def _repeat(run: Callable[[], Any], n_passes: int) -> None:
    for _ in range(n_passes):
        run()
