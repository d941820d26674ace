"""Lab 5: hidden cases, wrong answers, right answers of another design."""

LEFT_BLANK = ("BucketQueue", "DecodeLoop", "goodput")  # by who does half of the lab
