"""Speculative decoding, exactly lossless; why it is often slow, and how it becomes fast."""
