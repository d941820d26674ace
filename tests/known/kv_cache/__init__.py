"""Lab 4: known wrong and right answers."""
