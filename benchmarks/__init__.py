"""`make bench`: what grading costs beside plain nbgrader, and the speed of pair and engine."""
