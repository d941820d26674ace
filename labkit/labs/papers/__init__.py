"""Lab 8: questions on papers. The key is not here: only the grader has it."""
