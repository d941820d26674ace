"""Speculative decoding, exactly lossless; why it is often slow, and how it becomes fast."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.engine.draft_head": "HeadDraft load_head",
        "labkit.labs.speculative.": "runs tables",
        "labkit.labs.speculative.cards": "cards_table",
        "labkit.labs.speculative.batches": "batch_steps batches_table by_batch",
        "labkit.labs.speculative.models": "CopyDraft Counted TableModel TransformersModel",
        "labkit.labs.speculative.records": "ratios_of",
        "labkit.labs.speculative.rules": "RULES one_token rule_law toy_probs",
        "labkit.labs.speculative.sampled": "Samplers",
        "labkit.labs.speculative.speed_figures": "gains_by_gamma regimes residuals steps_by_model",
        "labkit.labs.speculative.trees": "ancestor_mask speculative_tree",
        "labkit.labs.speculative.widget": "speculation_player",
    },
)
