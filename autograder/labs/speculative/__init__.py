"""Lab 6: hidden cases, wrong answers, right answers of another design."""
