"""A class: attempts, grading side by side, here or on a cluster, and grading again."""
