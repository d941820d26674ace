"""Lab 2: known wrong and right answers."""
