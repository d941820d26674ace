"""Lab 1: GPU memory arithmetic. The answers are in `labkit.memory`."""
