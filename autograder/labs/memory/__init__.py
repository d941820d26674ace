"""Lab 1: what never ships: hidden cases."""

LEFT_BLANK = (
    "largest_model",
    "longest_sequence",
    "kv_table",
)  # in the half-finished submission to practise on
