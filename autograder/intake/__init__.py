"""What was handed in: found, read and put back on its master notebook."""
