"""Lab 6: known wrong and right answers."""
