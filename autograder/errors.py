"""Errors that a person can fix: the command line prints one sentence, without a traceback."""


class Refusal(Exception):
    """Grading cannot go on; the message says what was wanted, what came, and what to do."""
