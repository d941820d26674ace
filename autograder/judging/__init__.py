"""One submission, from cells to verdicts: the judge outside the wall, the student's code inside."""
