"""Lab 4: hidden cases, wrong answers, right answers of another design."""

LEFT_BLANK = ("generate", "RingCache", "PagedCache")  # by who does half of the lab
