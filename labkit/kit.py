"""Names that the notebooks of several labs share: `from labkit import kit`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labkit.lazy import offer

if TYPE_CHECKING:
    from labkit.checks import Checker

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.": "zoo",
        "labkit.chance.source": "scripted",
        "labkit.checks": "Checker",
        "labkit.checks.law": "exact_law text_law",
        "labkit.measuring.": "device timing",
        "labkit.measuring.audit": "disagreements",
        "labkit.measuring.bench": "Bench roofline",
        "labkit.measuring.bounds": "machine_of roofline_of",
        "labkit.measuring.device": "memory_errors_alive",
        "labkit.measuring.machine.device_memory": "device_for",
        "labkit.measuring.machine": "ready use_one_thread",
        "labkit.measuring.physics": "refusals",
        "labkit.measuring.profiles": "PAIRS brief profile short",
        "labkit.measuring.recorder": "Recorder",
        "labkit.measuring.records": "Provenance recorded_results",
        "labkit.measuring.roofline": "ModelWork Roofline pass_floor",
        "labkit.measuring.tables": "Table",
        "labkit.memory": "longest_sequence",
        "labkit.models.arguments": "check_rows check_sampling check_start check_tree cut_after",
        "labkit.models.configs": "ModelConfig",
        "labkit.models.facts": "data_path gpus match_gpu vram_readings",
        "labkit.models.folder": "load_shipped",
        "labkit.models.prompts": "Prompt prompts",
        "labkit.models.sampling": "Block CachedModel keep_top sample",
        "labkit.models.shapes": "ModelShape",
        "labkit.models.sizes": "kv_bytes_per_token weight_bytes",
        "labkit.models.transformer": "LayerCache Pick Seen Transformer TransformerConfig "
        "causal_mask generate_uncached greedy masked_attention sampler",
        "labkit.zoo": "load load_pair",
        "labkit.zoo.choose": "kit_tokenizer",
    },
    own=("start",),
)


def start(topic: str, namespace: Mapping[str, Any]) -> "Checker":
    """Begin a lab: compute on one thread, show what is ready, and return the lab's checker.

    With several threads, small models wait for other programs. Only a kernel shows something.
    """
    from labkit.checks import Checker
    from labkit.checks.kernel import kernel_shell
    from labkit.measuring.machine import ready, use_one_thread

    use_one_thread()
    if kernel_shell():
        print(ready())
    return Checker(topic, namespace)
