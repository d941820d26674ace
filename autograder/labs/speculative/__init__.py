"""Lab 6: what never ships: hidden cases."""

LEFT_BLANK = (
    "speculative",
    "ngram_draft",
    "best_gamma",
)  # in the half-finished submission to practise on
