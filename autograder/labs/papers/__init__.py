"""Lab 8: what never ships: hidden cases, and the key."""

LEFT_BLANK = ("q02", "q06", "q16_numbers")  # in the half-finished submission to practise on
