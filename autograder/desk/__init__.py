"""The marking desk: written answers marked by rubric, question by question, in a browser."""
