"""What shows that the grader works: the sample class, the matrix, the benches."""
