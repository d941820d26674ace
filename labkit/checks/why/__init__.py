"""Questions about the student's own passing code."""
