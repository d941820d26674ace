"""Of lab 06."""

GAINS = []
