"""The tables of lab 2, made from records and data sheets alone."""

import statistics
from collections.abc import Collection, Iterable

from labkit.labs.throughput import served
from labkit.labs.throughput.records import floors_of_run
from labkit.measuring.records import OUT_OF_MEMORY, Record, Row
from labkit.measuring.roofline import Roofline, pass_floor, ridge_point
from labkit.measuring.tables import Table, Tables
from labkit.models.facts import gpus
from labkit.models.tiny import facts_of, has_facts

PLACES = ("model", "batch", "in", "new")
TIMES = ("n", "time s", "middle half", "events s")
RATES = ("first", "tokens/s", "ms/seq", "ms/layer", "MFU")


def table(record: Record, experiment: str) -> Tables:
    """Two tables of an experiment's rows: times, and numbers computed from them.

    What all rows share stands in the title; a column that no row has anything for is left out.
    n: how many samples there are; of their times by the clock and by CUDA events the median stands
    here. first: the run before them, cold, as a multiple of that. ms/seq: of a forward pass, shared
    out among the batch. ms/layer: of one pass. MFU: FLOPs of all passes per second, as a share of
    the machine's peak, which is the data sheet's, with TF32, or else the measured one.
    """
    rows = record.of(experiment)
    lines = [_cells(row, record) for row in rows]
    varied = [name for name in PLACES if len({line[name] for line in lines}) > 1] or ["model"]
    notes = {row.note for row in rows if row.is_ok and row.note}
    shared = [f"{name} {lines[0][name]}" for name in PLACES if lines and name not in varied]
    if len(notes) == 1:
        shared.append(*notes)
    where = ", ".join([experiment, *shared, str(record.provenance)])
    return Tables(
        Table(headings, [[line.get(name) for name in headings] for line in lines], title)
        for title, names in {where: TIMES, f"{experiment}, rates and ratios": RATES}.items()
        if (headings := [*varied, *_filled(names, lines)])[len(varied) :]
    )


def cards_table(model: str, n_cached: int = 64, n_prompt: int = 8192) -> Table:
    """What each card of the fact table takes at least for a pass in float16, by its data sheet."""
    rows = []
    for name in gpus():
        card = Roofline.of(name)
        step, prefill = (pass_floor(card, model, *n) for n in ((1, n_cached), (n_prompt, 0)))
        rows.append(
            [
                name,
                f"{card.bandwidth / 1e9:,.0f}",
                f"{card.peak('float16') / 1e12:.0f}",
                f"{ridge_point(card, 'float16'):.0f}",
                f"{1e3 * step.seconds:.1f}",
                f"{1e3 * prefill.seconds:.0f}",
            ]
        )
    title = f"{model}, float16: a step after {n_cached} tokens, a prefill of {n_prompt:,} tokens"
    return Table(["card", "GB/s", "TFLOP/s", "ridge", "step ms", "prefill ms"], rows, title)


def memory_table(record: Record, cut: Iterable[Record], cards_gb: tuple[int, ...]) -> Table:
    """Which rows of the input sweep have room on smaller cards.

    Predicted from the peaks of `record`; measured where a record of `cut` has that `memory_gb`.
    """
    outcomes = {
        (each.provenance.memory_gb, row.n_input): row.outcome
        for each in cut
        for row in each.of("input_sweep")
    }
    measured = [gb for gb in cards_gb if any(gb == each for each, _ in outcomes)]
    rows = []
    for row in record.of("input_sweep"):
        if row.peak_bytes is not None:
            cells = [f"{row.n_input:,}", f"{row.peak_bytes / 1e9:.1f}"]
            cells += ["ok" if row.peak_bytes <= gb * 1e9 else OUT_OF_MEMORY for gb in cards_gb]
            rows.append([*cells, *(outcomes.get((gb, row.n_input)) for gb in measured)])
    headings = [f"{gb} GB, predicted" for gb in cards_gb] + [
        f"{gb} GB, measured" for gb in measured
    ]
    return Table(["in", "peak GB", *headings], rows, f"input_sweep, {record.provenance}")


def eager_table(record: Record) -> Table:
    """Eager decode steps: the layers of each model, and milliseconds."""
    lines = []
    for row in record.of("decode_steps"):
        if row.is_ok and (row.n_input, row.setting) == (1, served.EAGER):
            layers = facts_of(row.model)["num_hidden_layers"]
            lines.append([row.short_model, layers, f"{1e3 * row.time_s:.2f}"])
    return Table(["model", "layers", "eager ms"], lines, f"{record.provenance}")


def heads_table() -> Table:
    """The heads of the models that the lab asks about."""
    lines = []
    for model in (*served.EAGER_MODELS, served.OLDER):
        facts = facts_of(model)
        heads = facts["num_attention_heads"], facts["num_key_value_heads"]
        lines.append([model.rpartition("/")[2].removesuffix("-0724-hf"), *heads])
    return Table(["model", "query heads", "KV heads"], lines)


def floors_table(record: Record) -> Table:
    """The floors of a decode step of each model that the lab asks about, and its eager time."""
    lines = []
    for model in served.EAGER_MODELS:
        floor = served.floor_of_step(record, model)
        floors = (f"{1e3 * each:.3f}" for each in (floor.moving_s, floor.computing_s))
        eager_ms = f"{1e3 * served.step_s(record, model, served.EAGER):.2f}"
        lines.append([model.rpartition("/")[2], *floors, eager_ms])
    headings = ["model", "moving ms", "computing ms", "eager ms"]
    return Table(headings, lines, f"{record.provenance}, batch 1")


def serving_table(record: Record, dollars_per_hour: float, batches: Collection[int] = ()) -> Table:
    """Decode steps by batch and context: TPOT, throughput, price; and the TTFT of such a prompt.

    Rows of `decode_by_batch` have one context, and are told apart by the kind of step.
    batches: the sizes that are shown; all if it is empty.
    """
    lines, rows = [], served.decode_rows(record)
    has_joules = any("joules" in row.counts for row in rows)
    has_graphs = any(row.experiment == "decode_by_batch" for row in rows)
    for row in rows:
        n_cached = int(row.counts["n_cached"])
        if batches and row.batch_size not in batches:
            continue
        names = [row.setting if has_graphs else f"{n_cached:,}", row.batch_size]
        if not row.is_ok:
            lines.append([*names, row.outcome, *[None] * (4 + has_joules)])
            continue
        rate = row.batch_size / row.time_s
        ttft_s = served.prompt_s(record, n_cached)
        cells = [f"{1e3 * row.time_s:.2f}", f"{1 / row.time_s:.0f}", f"{rate:,.0f}"]
        cells.append(f"{dollars_per_hour / 3600 / rate * 1e6:.3f}")
        if has_joules:
            cells.append(f"{row.counts['joules'] / row.batch_size:.3f}")
        ttft = None if ttft_s is None else f"{1e3 * ttft_s:.0f}"
        lines.append([*names, *cells, ttft])
    first = "step" if has_graphs else "cached"
    headings = [first, "batch", "TPOT ms", "tok/s, user", "tok/s, card"]
    headings += ["$ per million", *["J/token"] * has_joules, "TTFT ms"]
    price = f"{dollars_per_hour:.2f} dollars per hour"
    return Table(headings, lines, f"{record.provenance}; {price}")


def _filled(names: tuple[str, ...], lines: list[dict[str, str]]) -> list[str]:
    """The columns that some line has something for; all of them if there are no lines."""
    return [name for name in names if not lines or any(line.get(name) for line in lines)]


def _cells(row: Row, record: Record) -> dict[str, str]:
    """The cells of a row, by heading."""
    cells = {
        "model": row.short_model,
        "batch": f"{row.batch_size}",
        "in": f"{row.n_input:,}",
        "new": f"{row.n_new}",
    }
    if not row.is_ok:
        return cells | {"time s": ": ".join(filter(None, (row.outcome, row.note)))}
    low, high = row.spread_s
    cells |= {
        "n": f"{len(row.samples_s)}",
        "time s": f"{row.time_s:.4f}",
        "middle half": f"{low:.4f} to {high:.4f}",
    }
    if row.events_s:
        cells["events s"] = f"{statistics.median(row.events_s):.4f}"
    if "first_s" in row.counts:
        cells["first"] = f"{row.counts['first_s'] / row.time_s:.1f}x"
    if row.n_new:
        cells["tokens/s"] = f"{row.tokens_per_s:.1f}"
    else:
        cells["ms/seq"] = f"{1e3 * row.time_s / row.batch_size:.2f}"
    if has_facts(row.model):
        n_layers = facts_of(row.model)["num_hidden_layers"]
        cells["ms/layer"] = f"{1e3 * row.time_s / max(1, row.n_new) / n_layers:.3f}"
    if floors := floors_of_run(row, record):
        computing_s = sum(floor.computing_s for floor in floors)
        cells["MFU"] = f"{computing_s / row.time_s:.1%}"
    return cells
