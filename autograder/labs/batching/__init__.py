"""Lab 5: what never ships: hidden cases."""

LEFT_BLANK = (
    "BucketQueue",
    "DecodeLoop",
    "goodput",
)  # in the half-finished submission to practise on
