"""autograder: builds the labs, grades submissions outside the student's process, reports."""
