"""Lab 1: known wrong and right answers."""
