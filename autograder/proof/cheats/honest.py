"""Submissions as most students hand them in."""

from autograder.builder.blank import blank_values, stub_cell
from autograder.builder.source import Cell, find_lab, module_source
from autograder.labs import part_of
from autograder.proof.cheats import ALL, Edit, Sample, cell_called

HALF = {
    "01_memory": ("largest_model", "longest_sequence", "kv_table"),
    "02_throughput": ("sweep", "fit_steps", "my_table"),
    "03_cache_benchmark": ("predicted_time_s", "block_hashes", "offload_plan"),
    "04_kv_cache": ("generate", "RingCache", "PagedCache"),
    "05_batching": ("BucketQueue", "DecodeLoop", "goodput"),
    "06_speculative": ("speculative", "ngram_draft", "best_gamma"),
    "07_flash_attention": ("flash_attention_1", "run_times", "homework"),
    "08_papers": ("q02", "q06", "q16_numbers"),
}


def untouched(cell: Cell) -> str:
    """What a cell looks like in the student's edition."""
    if cell.kind == "answer":
        return blank_values(cell.text)
    return stub_cell(module_source(cell.target.module), cell.target)


def leave_blank(lab: str, names: tuple[str, ...] = ALL) -> Edit:
    """Leave these cells as they were handed out."""

    def edit(notebook: dict) -> None:
        for cell in find_lab(lab).marked:
            if names == ALL or cell.name in names:
                cell_called(notebook, cell.name)["source"] = untouched(cell)

    return edit


def write_differently(lab: str) -> Edit:
    """Take, for every exercise, the first right variant instead of the reference."""

    def edit(notebook: dict) -> None:
        topic = find_lab(lab).topic
        for variant in reversed(part_of(topic, "variants").VARIANTS):
            cell_called(notebook, variant.exercise)["source"] = variant.source

    return edit


SAMPLES = [
    sample
    for lab in HALF
    for sample in (
        Sample("ada", lab, "perfect"),
        Sample("bela", lab, "perfect, written differently", write_differently(lab)),
        Sample("carol", lab, "half right", leave_blank(lab, HALF[lab]), loses=HALF[lab]),
        Sample("dora", lab, "blank", leave_blank(lab), loses=ALL),
    )
]
