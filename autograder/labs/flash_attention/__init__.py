"""Lab 7: what never ships: hidden cases."""

LEFT_BLANK = (
    "flash_attention_1",
    "run_times",
    "homework",
)  # in the half-finished submission to practise on
