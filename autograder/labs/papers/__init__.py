"""Lab 8: the key, hidden cases, wrong and right answers."""
