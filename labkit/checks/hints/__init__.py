"""Hints that follow a student's tries: the hint of a claim, the smallest failing case, the line."""
