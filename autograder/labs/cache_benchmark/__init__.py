"""Lab 3: what never ships: hidden cases."""

LEFT_BLANK = (
    "predicted_time_s",
    "block_hashes",
    "tiers",
)  # in the half-finished submission to practise on
