"""Lab 6: speculative decoding. The answers are in `labkit.speculative`."""
