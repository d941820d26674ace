"""Of lab 06."""

LOOPS = []
