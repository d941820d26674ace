"""A timer to believe, sweeps that survive running out of memory, what limits a step."""
