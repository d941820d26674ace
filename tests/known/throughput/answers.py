"""Wrong and right values for the answer cells of the lab."""

import re
from typing import Any

from autograder.labs.throughput.cases import FAULTY_ENTRIES
from labkit import throughput
from labkit.checks.recorded import record_named
from labkit.labs.throughput import served
from labkit.labs.throughput.checks.record import MODELS, REGIONS
from labkit.labs.throughput.checks.serving import CONTEXTS
from labkit.labs.throughput.shares import LIMITS, shares_of
from labkit.models.tiny import facts_of

RECORD, GPU, CARD = "steps-cpu", "speculative-h200", "serving-2gpu"
_ALL_LAYERS = "a_step_launches_all_its_layers"
_PER_OPERATION = "time_per_operation_follows_from_the_record"
_HEADS = "shared_heads_are_read_off_the_config"
_DECODE = "decode_is_explained"
_LONG = "long_passes_are_explained"
_FLOORS = "predictions_follow_from_the_floors"
_GAIN = "the_largest_gain_is_named"
_BATCH = "the_batch_fits_the_limit"
_PRICE = "the_price_follows_from_the_step"


def record(name: str) -> Any:
    """A record of the kit."""
    return record_named(name, "*.jsonl")


def right_limit(region: str) -> str:
    """The largest share of a region."""
    shares = shares_of(record(RECORD), region)
    return max(LIMITS, key=lambda name: getattr(shares, name))


def wrong_limit(region: str) -> str:
    """A limit that is not accepted."""
    accepted = shares_of(record(RECORD), region).accepted()
    return next(name for name in LIMITS if name not in accepted)


def which(name: str = RECORD, **changed: Any) -> str:
    """The cell on limits, right but for what is changed."""
    answer = {region: right_limit(region) for region in REGIONS} | changed
    return f"which_limit = { ({'record': name} | answer)!r}"


def accepted_limits() -> str:
    """The cell on limits, with the last of the limits that are accepted in each place."""
    found = {}
    for region in REGIONS:
        accepted = shares_of(record(RECORD), region).accepted()
        found[region] = [name for name in LIMITS if name in accepted][-1]
    return which(**found)


def in_capitals(cell: str) -> str:
    """The cell on limits with its values in capitals, and the file's whole name."""
    name, _, answer = cell.partition(" = ")
    values = re.sub(r"(?<=: )'[^']*'", lambda found: found[0].upper(), answer)
    return f"{name} = {values}".replace(RECORD.upper(), f"{RECORD}.jsonl")


def launched(model: str) -> float:
    """Operations of a step."""
    return served.launched_by_step(served.counts_of_step(MODELS[model]))


def counted(
    counts: dict | None = None,
    us: dict | None = None,
    without: Any = ("OLMo-7B",),
    name: str = GPU,
) -> str:
    """The cell on operations, right but for what is changed."""
    given = {model: launched(model) for model in MODELS} | (counts or {})
    each = {
        model: 1e6 * served.step_s(record(GPU), MODELS[model], served.EAGER) / max(1, given[model])
        for model in MODELS
    } | (us or {})
    answer = {"record": name, "operations": given, "us_per_operation": each}
    return f"operations = {(answer | {'without_shared_kv_heads': without})!r}"


def of_each(make: Any) -> dict[str, float]:
    """A number for each model."""
    return {model: make(model) for model in MODELS}


def steps_us(model: str, setting: str = served.EAGER) -> float:
    """Microseconds of a step."""
    return 1e6 * served.step_s(record(GPU), MODELS[model], setting)


def graphs(factor: float = 1.3, gains: Any = "Qwen3-1.7B", name: str = GPU, **ms: Any) -> str:
    """The cell of predictions: so many times the floors."""
    floors = {model: floor_ms(model) * factor for model in MODELS}
    changed = {model.replace("_", "-").replace("1-7", "1.7"): n for model, n in ms.items()}
    answer = {"record": name, "ms": floors | changed, "gains_most": gains}
    return f"without_launches = {answer!r}"


def floor_ms(model: str) -> float:
    """Milliseconds that a step takes at least."""
    return 1e3 * served.floor_of_step(record(GPU), MODELS[model]).seconds


def serving(
    price: float = 2.4,
    most_ms: float = 10.0,
    batch: dict | None = None,
    dollars: dict | None = None,
    factor: float = 1.0,
    name: str = CARD,
    **changed: Any,
) -> str:
    """The cell on decode batches, right but for what is changed."""
    found = {}
    for words, n_cached in CONTEXTS.items():
        steps = served.steps_by_batch(record(CARD), n_cached)
        found[words] = throughput.cheapest_batch(steps, price, most_ms / 1e3)
    answer = {
        "record": name,
        "dollars_per_hour": price,
        "most_tpot_ms": most_ms,
        "batch": {words: n for words, (n, _) in found.items()} | (batch or {}),
        "dollars_per_million": {
            words: factor * each for words, (_, each) in found.items()
        } | (dollars or {}),
    }  # fmt: skip
    return f"serving_point = {(answer | changed)!r}"


def report(**changed: str) -> str:
    """The cell on the flawed report."""
    return f"flawed_report = {(FAULTY_ENTRIES | changed)!r}"


COUNT_CELLS = [
    ("operations of one layer", (_ALL_LAYERS,), counted(
        of_each(lambda one: served.counts_of_step(MODELS[one])["operations"]))),
    ("views too", (_ALL_LAYERS,), counted(of_each(lambda one: (
        lambda n: n["layers"] * (n["operations"] + n["views"]) + n["outside"])(
        served.counts_of_step(MODELS[one]))))),
    ("the views alone", (_ALL_LAYERS,), counted(of_each(lambda one: (
        lambda n: n["layers"] * n["views"])(served.counts_of_step(MODELS[one]))))),
    ("one model's for another's", (_ALL_LAYERS,), counted({"Qwen3-1.7B": launched("Qwen3-8B")})),
    ("milliseconds", (_PER_OPERATION,), counted(
        us=of_each(lambda one: 1e-3 * steps_us(one) / launched(one)))),
    ("a whole step", (_PER_OPERATION,), counted(us=of_each(steps_us))),
    ("per layer", (_PER_OPERATION,), counted(us=of_each(
        lambda one: steps_us(one) / facts_of(MODELS[one])["num_hidden_layers"]))),
    ("of the graph", (_PER_OPERATION,), counted(us=of_each(
        lambda one: steps_us(one, served.GRAPH) / launched(one)))),
    ("one of them is another's", (_PER_OPERATION,), counted(us={"Llama-3.1-8B": 30.0})),
    ("no such record", (_PER_OPERATION,), counted(name="throughput-cpu")),
    ("text in a number field", (_ALL_LAYERS, _PER_OPERATION), counted().replace(
        f"{launched('Qwen3-8B')!r}", "'many'", 1)),
    ("no model has", (_HEADS,), counted(without=[])),
    ("a model with shared heads", (_HEADS,), counted(without=["Llama-3.1-8B"])),
    ("all four", (_HEADS,), counted(
        without=["Qwen3-1.7B", "Qwen3-8B", "Llama-3.1-8B", "OLMo-7B"])),
]  # fmt: skip
LIMIT_CELLS = [
    *((f"another limit for {region}", (_DECODE if region in REGIONS[:3] else _LONG,),
       which(**{region: wrong_limit(region)})) for region in REGIONS),
    ("another word", (_LONG,), which(prefill="the GPU")),
    ("everything is memory", (_DECODE, _LONG), which(**dict.fromkeys(REGIONS, "memory"))),
    ("no such record", (_DECODE, _LONG), which("steps-mine")),
]  # fmt: skip
GRAPH_CELLS = [
    ("below the floor", (_FLOORS,), graphs(0.5)),
    ("the eager steps", (_FLOORS,), graphs(**{
        "Qwen3_1-7B": 1e-3 * steps_us("Qwen3-1.7B"), "Qwen3_8B": 1e-3 * steps_us("Qwen3-8B")})),
    ("seconds", (_FLOORS,), graphs(1e-3)),
    ("three times the floor", (_FLOORS,), graphs(3.0)),
    ("one below its floor", (_FLOORS,), graphs(Qwen3_8B=2.0)),
    ("the largest model gains most", (_GAIN,), graphs(gains="Qwen3-8B")),
    ("the model with the fewest operations", (_GAIN,), graphs(gains="Llama-3.1-8B")),
    ("a model that is not asked about", (_GAIN,), graphs(gains="OLMo-7B")),
    ("no such record", (_FLOORS, _GAIN), graphs(name="speculative-cpu")),
]  # fmt: skip
SERVING_CELLS = [
    ("a batch that is too slow", (_BATCH,), serving(batch={"8192 cached": 32})),
    ("a batch that was not measured", (_BATCH,), serving(batch={"512 cached": 100})),
    ("the same batch for both", (_BATCH,), serving(batch={"512 cached": 8})),
    ("one user's price", (_PRICE,), serving(dollars={"512 cached": 5.7, "8192 cached": 6.5})),
    ("the price of one token", (_PRICE,), serving(factor=1e-6)),
    ("the price of a thousand", (_PRICE,), serving(factor=1e-3)),
    ("another hour's price", (_PRICE,), serving(factor=2.0)),
    ("faster than any step", (_BATCH, _PRICE), serving(most_tpot_ms=1.0)),
    ("no price", (_BATCH, _PRICE), serving(dollars_per_hour=0)),
    ("no such record", (_BATCH, _PRICE), serving(name="speculative-h100")),
]  # fmt: skip
_NAMES = {
    "cold_start": "the_cold_start_is_named",
    "impossible_row": "the_impossible_row_is_named",
    "mean_of_rates": "the_mean_of_rates_is_named",
    "wrong_unit": "the_wrong_unit_is_named",
    "batch_mislabelled": "the_mislabelled_batch_is_named",
    "mha_taken_for_gqa": "the_confused_heads_are_named",
}
REPORT_CELLS = [
    *(
        (f"another entry for {fault}", (name,), report(**{fault: "K"}))
        for fault, name in _NAMES.items()
    ),
    ("two mixed up", (_NAMES["cold_start"], _NAMES["batch_mislabelled"]),
     report(cold_start="L", batch_mislabelled="A")),
    ("one entry for two faults", (_NAMES["wrong_unit"], _NAMES["cold_start"]),
     report(wrong_unit="A")),
    ("one entry for all", tuple(_NAMES.values()), report(**dict.fromkeys(_NAMES, "A"))),
    ("not an entry", tuple(_NAMES.values()), report(cold_start="table 1")),
]  # fmt: skip

MUTANTS = {
    "operations": COUNT_CELLS,
    "which_limit": LIMIT_CELLS,
    "without_launches": GRAPH_CELLS,
    "serving_point": SERVING_CELLS,
    "flawed_report": REPORT_CELLS,
}


VARIANTS = {
    "operations": {
        "all digits": counted(),
        "rounded": counted(us=of_each(lambda one: round(steps_us(one) / launched(one), 1))),
        "another version's count, a name alone": counted(
            {"Qwen3-8B": 1.05 * launched("Qwen3-8B")}, without="OLMo-7B"),
    },
    "which_limit": {
        "in capitals": in_capitals(which()),
        "as it is": which(),
        "the last of those that come close": accepted_limits(),
    },
    "without_launches": {
        "the floors": graphs(1.0),
        "nearly twice the floors": graphs(1.95),
        "what was measured": graphs(**{
            "Qwen3_1-7B": 1e-3 * steps_us("Qwen3-1.7B", served.GRAPH),
            "Qwen3_8B": 1e-3 * steps_us("Qwen3-8B", served.GRAPH)}),
    },
    "serving_point": {
        "another price and limit": serving(6.16, 8.0),
        "rounded": serving(factor=1.01),
        "no limit to speak of": serving(1.0, 50.0),
    },
    "flawed_report": {
        "as it is": report(),
        "small letters": report().replace("'A'", "'a'").replace("'H'", "'h'"),
        "spaces": report().replace("'Q'", "' Q '"),
    },
}  # fmt: skip
