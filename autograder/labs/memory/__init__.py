"""Lab 1: hidden cases, wrong answers, right answers of another design."""
