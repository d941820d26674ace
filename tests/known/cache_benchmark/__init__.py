"""Lab 3: known wrong and right answers."""
