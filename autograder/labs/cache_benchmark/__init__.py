"""Lab 3: hidden cases, wrong answers, right answers of another design."""

LEFT_BLANK = ("predicted_time_s", "block_hashes", "offload_plan")  # by who does half of the lab
