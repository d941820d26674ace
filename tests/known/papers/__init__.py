"""Lab 8: known wrong and right answers."""
