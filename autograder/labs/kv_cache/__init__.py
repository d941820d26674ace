"""Lab 4: what never ships: hidden cases."""

LEFT_BLANK = (
    "generate",
    "RingCache",
    "PagedCache",
)  # in the half-finished submission to practise on
