"""What never ships: hidden cases, wrong and right answers, keys, a folder per lab."""
