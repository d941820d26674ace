"""Lab 2: throughput and its limits. The answers are in `labkit.throughput`."""
