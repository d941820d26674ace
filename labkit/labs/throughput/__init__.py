"""A timer that you can trust, sweeps that survive a lack of memory, what limits a step."""
