"""Lab 5: continuous batching. The answers are in `labkit.batching`."""
