"""Lab 8: the key, hidden cases, wrong and right answers."""

LEFT_BLANK = ("q02", "q06", "q16_numbers")  # by who does half of the lab
