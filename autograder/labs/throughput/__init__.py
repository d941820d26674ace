"""Lab 2: what never ships: hidden cases."""

LEFT_BLANK = ("sweep", "fit_steps", "operations")  # in the half-finished submission to practise on
