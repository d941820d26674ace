"""Attention on a memory that counts: standard, both FlashAttentions, closed forms, times."""

from labkit.lazy import offer

__all__, __getattr__, __dir__ = offer(
    __name__,
    {
        "labkit.bridge.in_triton": "tl",
        "labkit.labs.flash_attention.": "experiments figures kernel tables",
        "labkit.labs.flash_attention.backward": "flash_backward_2 standard_backward",
        "labkit.labs.flash_attention.flops": "flash_flops",
        "labkit.labs.flash_attention.split": "decode_memory flash_decode",
        "labkit.labs.flash_attention.widget": "tile_player",
        "labkit.models.counted_memory": "Memory SramOverflow Traffic attention_memory "
        "tile_scores tiles",
    },
)
