"""What a person can mend: the command line says it in one sentence, without a traceback."""

from __future__ import annotations


class Refusal(Exception):
    """Grading cannot go on; the message says what was wanted, what came, and what to do."""
