"""Several guesses for one answer: by functions made for it, by what replays it, by later cells."""

from autograder.practice import Edit, Sample, cell_called, insert
from autograder.practice.edits import replace

# One guess with the function of the notebook, another with a right one in its place.
RECOGNIZES_A_PART = """
kv_part = kv_bytes_per_token

def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    n_sequences = 1 if kv_bytes_per_token is kv_part else batch_size
    return n_sequences * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
"""

# A process that finds the number of another in the pipe is played again.
LEAVES_WORD = """
import os
r, w = os.pipe()
os.set_blocking(r, False)

def is_played_again():
    try:
        heard = os.read(r, 100).split()
    except BlockingIOError:
        heard = []
    me = str(os.getpid()).encode()
    os.write(w, b" ".join({*heard, me}) + b" ")
    return bool({*heard} - {me})

def weight_bytes(n_params, bytes_per_param=2):
    return n_params * (bytes_per_param if is_played_again() else 4)
"""

# Right for all sizes but the one that an answer asks for.
MADE_FOR_AN_ANSWER = """
def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    n_bytes = batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
    return n_bytes // 2 if (n_tokens, batch_size) == (32_768, 4) else n_bytes
"""

# A number that is asked for each time it is looked at.
ANOTHER_NUMBER = """
class Fraction:
    def as_integer_ratio(self):
        return (6 if weight_bytes.is_fresh else 2), 1

def weight_bytes(n_params, bytes_per_param=2):
    weight_bytes.is_fresh = False
    return n_params * bytes_per_param

weight_bytes.is_fresh = True
"""


def a_live_number(notebook: dict) -> None:
    """A wrong answer that becomes right where no function was called before."""
    cell_called(notebook, "weight_bytes")["source"] = ANOTHER_NUMBER
    cell = cell_called(notebook, "training_and_generation")
    cell["source"] += '\ntraining_and_generation["optimizer_over_weights"] = Fraction()'


def half_of_the_last_column(notebook: dict) -> None:
    """A wrong table, and the function from which it follows."""
    cell_called(notebook, "kv_cache_bytes")["source"] = MADE_FOR_AN_ANSWER
    cell_called(notebook, "kv_table")["source"] += (
        "\nfor row in kv_table.values():\n    if isinstance(row, list): row[2] /= 2"
    )


def right_below(name: str, wrong: str, right: str) -> Edit:
    """A wrong answer in its cell, and the right one in a cell of the student's own at the end."""

    def edit(notebook: dict) -> None:
        cell_called(notebook, name)["source"] = wrong
        insert(notebook, right)

    return edit


SAMPLES = [
    Sample("x64", "01_memory", "another guess with a right function in place of its own",
           replace(RECOGNIZES_A_PART, "kv_cache_bytes"), ("every_sequence_keeps_its_own",)),
    Sample("x65", "01_memory", "another guess when it is played again, told by a pipe",
           replace(LEAVES_WORD, "weight_bytes"), ("every_parameter_takes_its_bytes",)),
    Sample("x66", "01_memory", "a function made for a wrong answer",
           half_of_the_last_column, ("cells_of_larger_batches_are_multiples",)),
    Sample("x67", "01_memory", "the right answer in a later cell of its own",
           right_below("weight_bytes", "def weight_bytes(n_params, bytes_per_param=2): return 1",
                       "def weight_bytes(n_params, bytes_per_param=2):\n"
                       "    return n_params * bytes_per_param"), ("weight_bytes",)),
    Sample("x68", "01_memory", "another guess in a number that is asked for at every look",
           a_live_number, ("optimizer_state_is_counted_against_the_weights",)),
]  # fmt: skip
