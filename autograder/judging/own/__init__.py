"""Assignments of a teacher's own: nbgrader's test cells, and what the judge makes of them."""
