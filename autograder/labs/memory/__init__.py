"""Lab 1: hidden cases, wrong answers, right answers of another design."""

LEFT_BLANK = ("largest_model", "longest_sequence", "kv_table")  # by who does half of the lab
