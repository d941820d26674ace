"""Lab 7: known wrong and right answers."""
