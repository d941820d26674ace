"""Lab 6: hidden cases, wrong answers, right answers of another design."""

LEFT_BLANK = ("speculative", "ngram_draft", "best_gamma")  # by who does half of the lab
