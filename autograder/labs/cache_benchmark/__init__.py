"""Lab 3: hidden cases, wrong answers, right answers of another design."""
