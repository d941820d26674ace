"""What a pass takes, as a server makes it: over prompts, over running requests, over both."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from labkit.engine.serving.decoder import PagedDecoder
from labkit.engine.serving.pages import PAGE
from labkit.engine.weights import DecoderShape, Weights
from labkit.labs.batching.measured.sizes import Models
from labkit.measuring.device import rows_in_room
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns

N_STEPS = 5  # of running requests, for one sample: the host's time between them counts, as it does
NO_ROOM = "no room"


def cost_rows(models: Models) -> list[Row]:
    """The points: prefill_pass, decode_pass and mixed_pass.

    batch_size: prompts or running requests. n_input: tokens of each that the pass is fed.
    """
    sizes, words = models.sizes, {"outcome": "-"}
    rows = [Row("prefill_pass", models.name, 1, n, 0, False, **words) for n in sizes.prefill]
    for n in sizes.prompts:
        rows.append(replace(rows[0], batch_size=n, n_input=sizes.packed_tokens // n))
    for n_cached in sizes.contexts:
        for n in sizes.batches:
            row = Row("decode_pass", models.name, n, 1, 0, True, **words)
            rows.append(replace(row, setting=f"{n_cached} cached", counts={"n_cached": n_cached}))
    for n_running in sizes.running:
        for n in sizes.mixed:
            row = Row("mixed_pass", models.name, 1, n, 0, True, **words)
            counts = {"n_running": n_running, "n_cached": sizes.beside}
            setting = f"beside {n_running} running, {sizes.beside} cached"
            rows.append(replace(row, setting=setting, counts=counts))
    return rows


def costs(models: Models, n_samples: int, is_done: IsDone) -> Iterator[Row]:
    """The rows that are not done yet. counts has the work of a pass: flops, and bytes to move."""
    rows = [row for row in cost_rows(models) if not is_done(row.key)]

    def measure() -> Iterator[Row]:
        with models.decoder(first_device(models)) as decoder:
            for row in rows:
                yield _timed(decoder, row, n_samples)

    if rows:
        yield from rows_in_room(rows, measure)


def first_device(models: Models) -> str:
    """Of the GPU that computes, or the CPU."""
    return "cuda:0" if models.profile.device == "cuda" else "cpu"


def _timed(decoder: PagedDecoder, row: Row, n_samples: int) -> Row:
    """A point, each sample from the same lengths of the caches."""
    n_running = int(row.counts.get("n_running", row.batch_size if row.use_cache else 0))
    n_prompts = 0 if row.experiment == "decode_pass" else row.batch_size
    n_cached, n_new = int(row.counts.get("n_cached", 0)), row.n_input
    n_steps = 1 if n_prompts else N_STEPS
    wanted = [n_cached + N_STEPS] * n_running + [n_new] * n_prompts
    n_pages = sum(-(-n // PAGE) for n in wanted)
    if n_pages > decoder.pages.n_free:
        n_room = decoder.pages.n_free * PAGE
        return replace(row, outcome=NO_ROOM, note=f"the pages have room for {n_room:,} tokens")
    run = steps(decoder, n_running, n_cached, [n_new] * n_prompts, n_steps)
    timing = time_in_turns({"run": run}, n_samples, n_warmup=2)["run"]
    for slot in range(len(wanted)):
        decoder.pages.release(slot)
    samples_s = [sample / n_steps for sample in timing.samples_s]
    work = work_of(decoder.weights, [n_cached] * n_running, [n_new] * n_prompts)
    return measured(row, samples_s, {**row.counts, **work})


def steps(
    decoder: PagedDecoder, n_running: int, n_cached: int, prompts: list[int], n_steps: int = 1
) -> Callable[[], None]:
    """What runs n_steps steps of so many running requests and prompts, and forgets them again."""
    pages = decoder.pages
    lengths = dict.fromkeys(range(n_running), n_cached)
    generator = torch.Generator("cpu").manual_seed(0)
    chunks = {
        n_running + i: torch.randint(0, decoder.shape.vocab_size, (n,), generator=generator)
        for i, n in enumerate(prompts)
    }
    for slot, n in lengths.items():
        pages.reserve(slot, n + N_STEPS)
        pages.rewind(slot, n)
    for slot, chunk in chunks.items():
        pages.reserve(slot, len(chunk))

    def run() -> None:
        tokens = dict.fromkeys(lengths, 1)
        for _ in range(n_steps):
            made = decoder.step(tokens, chunks)
            tokens = dict(zip(tokens, made, strict=False))
        pages.rewind_all(lengths | dict.fromkeys(chunks, 0))

    return run


def work_of(weights: Weights, running: list[int], prompts: list[int]) -> dict[str, float]:
    """The least that a pass has to do: flops, and moved_bytes of weights, keys and values.

    running: the cached tokens of each running request; prompts: tokens of each, none cached.
    """
    shape, width = weights.shape, weights.head.element_size()
    n_tokens, n_logits = len(running) + sum(prompts), len(running) + len(prompts)
    head = weights.head.numel()
    layers = weights.step_bytes // width - head
    seen = sum(n + 1 for n in running) + sum(n * (n + 1) / 2 for n in prompts)
    pairs = 4 * shape.n_layers * shape.n_heads * shape.head_dim * seen
    cached = (sum(running) + n_tokens) * token_bytes(shape, width)
    return {
        "flops": 2 * (layers * n_tokens + head * n_logits) + pairs,
        "moved_bytes": weights.step_bytes + cached,
    }


def token_bytes(shape: DecoderShape, width: int) -> int:
    """Bytes of the keys and values of a token in all layers."""
    return 2 * width * shape.n_layers * shape.n_kv_heads * shape.head_dim
