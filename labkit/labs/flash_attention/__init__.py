"""Attention on a memory that counts: standard, both FlashAttentions, closed forms, times."""
