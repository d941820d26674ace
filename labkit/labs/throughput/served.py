"""Reading the records of GPUs: steps as CUDA graphs, operations, decode steps by batch."""

from collections.abc import Mapping
from functools import cache

from labkit.measuring.bounds import machine_of
from labkit.measuring.records import NothingMeasured, Record, Row, recorded_results
from labkit.measuring.roofline import Floor, pass_floor

EAGER, GRAPH = "eager", "captured"
GRAPH_RECORDS = "speculative-h?00.jsonl"
SHARE_RECORDS = "steps-*.jsonl"
PRICE_RECORDS = "serving-2gpu*.jsonl"
OLDER = "allenai/OLMo-7B-0724-hf"
EAGER_MODELS = ("Qwen/Qwen3-1.7B", "Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B")


@cache
def counts_of_step(model: str, dtype: str = "bfloat16") -> Mapping[str, float]:
    """What a decode step of a model dispatches, by the kit's record: see `launches.operations`.

    Raises: NothingMeasured if no record has it.
    """
    for record in recorded_results(SHARE_RECORDS).values():
        for row in record.of("operations", model):
            if row.setting == dtype:
                return row.counts
    raise NothingMeasured(f"no record has the operations of {model} in {dtype}")


def launched_by_step(counts: Mapping[str, float]) -> float:
    """Operations of all layers and of the rest, without views."""
    return counts["layers"] * counts["operations"] + counts["outside"]


def step_s(record: Record, model: str, setting: str) -> float:
    """Seconds of a decode step over one token, eager or captured as a CUDA graph.

    Raises: NothingMeasured if the record has none.
    """
    return _step(record, model, setting).time_s


def floor_of_step(record: Record, model: str) -> Floor:
    """The floor of that step, by the data sheet of the record's card."""
    row = _step(record, model, EAGER)
    machine, _ = machine_of(record)
    n_cached = int(row.counts["n_cached"])
    return pass_floor(machine, model, 1, n_cached, 1, record.provenance.dtype)


def _step(record: Record, model: str, setting: str) -> Row:
    for row in record.of("decode_steps", model):
        if row.is_ok and row.n_input == 1 and row.setting == setting:
            return row
    raise NothingMeasured.of(record.of("decode_steps", model), "decode_steps")


def steps_by_batch(record: Record, n_cached: int) -> dict[int, float]:
    """Seconds of a decode step by batch size, after n_cached tokens, of rows that ran.

    Of lab 5's serving decoder, or of `launches.decode_by_batch`: there as a CUDA graph if there is
    one. Raises: NothingMeasured if the record has none.
    """
    rows = decode_rows(record)
    found = {
        row.batch_size: row.time_s  # of two settings the later one, the graph
        for row in rows
        if row.is_ok and row.counts.get("n_cached") == n_cached
    }
    if not found:
        raise NothingMeasured.of(rows, "decode_by_batch")
    return found


def contexts_of(record: Record) -> list[int]:
    """How many tokens were cached in the decode steps of a record."""
    return sorted({int(row.counts["n_cached"]) for row in decode_rows(record) if row.is_ok})


def decode_rows(record: Record) -> list[Row]:
    """The decode steps by batch that a record has."""
    return [*record.of("decode_pass"), *record.of("decode_by_batch")]


def prompt_s(record: Record, n_tokens: int) -> float | None:
    """Seconds of the prefill of one prompt, which are its TTFT; None if it was not measured."""
    for row in record.of("prefill_pass"):
        if row.is_ok and (row.batch_size, row.n_input) == (1, n_tokens):
            return row.time_s
    return None
