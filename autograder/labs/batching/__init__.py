"""Lab 5: what never ships: hidden cases."""

LEFT_BLANK = (
    "DecodeLoop",
    "Scheduler",
    "RequestQueue",
)  # in the half-finished submission to practise on
