"""Lab 5: hidden cases, wrong answers, right answers of another design."""
