"""Lab 7: hidden cases, wrong answers, right answers of another design."""

LEFT_BLANK = ("flash_attention_1", "run_times", "homework")  # by who does half of the lab
