"""Lab 7: hidden cases, wrong answers, right answers of another design."""
