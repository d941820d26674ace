"""What a person can mend: the command line says it in one sentence, without a traceback."""


class Refusal(Exception):
    """Grading cannot go on; the message says what was wanted, what came, and what to do."""
