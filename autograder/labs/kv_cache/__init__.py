"""Lab 4: hidden cases, wrong answers, right answers of another design."""
