"""`make bench`: what grading costs, and how the cost grows; records go to `build/bench`."""
