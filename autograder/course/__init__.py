"""The facts of a course: its people, its deadlines, and the cost of a late submission."""
