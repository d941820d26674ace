"""Lab 2: hidden cases, wrong answers, right answers of another design."""
