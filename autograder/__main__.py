"""`python -m autograder` is the command line."""

from autograder.cli import main

main()
