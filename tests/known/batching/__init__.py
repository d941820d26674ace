"""Lab 5: known wrong and right answers."""
