"""Lab 2: hidden cases, wrong answers, right answers of another design."""

LEFT_BLANK = ("sweep", "fit_steps", "my_table")  # by who does half of the lab
