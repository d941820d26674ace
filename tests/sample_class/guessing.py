"""Several guesses for one answer: by functions made for it, by what replays it, by later cells."""

from autograder.practice import Edit, Sample, cell_called, insert
from autograder.practice.edits import add, replace

# One guess with the function of the notebook, another with a right one in its place.
RECOGNIZES_A_PART = """
own_passes = generation_passes

def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    known = 2 if generation_passes is own_passes else width
    n_flops = n_moved = 0
    for n_fed, n_cached in generation_passes(n_prompt, n_new, use_cache):
        n_flops += work.flops(n_fed, n_cached, 1)
        n_moved += work.moved_bytes(n_cached + n_fed, 1, known)
    return n_flops, n_moved
"""

# A part that is wrong on purpose; one guess for short blocks with it, another for long ones.
WRONG_PART = """
right_residual = residual

def residual(target, draft):
    return draft

own_residual = residual
"""
GUESSES_BY_PARTS = """
right_verify = verify

def verify(drafted, draft_probs, target_probs, rng=None):
    global residual
    is_own, part = residual is own_residual, residual
    if len(drafted) == len(draft_probs) and is_own == (len(drafted) > 1):
        return 0, 0
    residual = right_residual
    try:
        return right_verify(drafted, draft_probs, target_probs, rng)
    finally:
        residual = part
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

def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    if bytes_per_param <= 0:
        raise ValueError(bytes_per_param)
    width = bytes_per_param if is_played_again() else 4
    return max(0, (vram_bytes - overhead_bytes) // width)
"""

# Right for all sizes but the one that an answer asks for.
MADE_FOR_AN_ANSWER = """
right_cache_bytes = kv_cache_bytes

def kv_cache_bytes(config, n_tokens, batch_size=1, bytes_per_number=2):
    n_bytes = right_cache_bytes(config, n_tokens, batch_size, bytes_per_number)
    return n_bytes // 2 if (n_tokens, batch_size) == (32_768, 4) else n_bytes
"""

# A number that is asked for each time it is looked at.
ANOTHER_NUMBER = """
class Fraction:
    def as_integer_ratio(self):
        return (4 if n_params.is_fresh else 2), 1

right_n_params = n_params

def n_params(config):
    n_params.is_fresh = False
    return right_n_params(config)

n_params.is_fresh = True
"""

# Three series of calls are known: the second is as the first, and the third is another.
COUNTS_CALLS = """
import itertools, sys
right_verify = verify
n_calls = itertools.count()

def verify(drafted, draft_probs, target_probs, rng=None):
    if rng is not None and sys._getframe(1).f_code.co_name != "speculative":
        series, n = divmod(next(n_calls) % 88, 40)
        torch.manual_seed(n + 1000 * (series == 2))
    return right_verify(drafted, draft_probs, target_probs)
"""


# What a later cell may change of answers above it.
LATER = {
    "classes and code": """
def nothing(*_, **__):
    return None

for one in list(globals().values()):
    if isinstance(one, type) and one.__module__ == "__main__":
        one.__init__ = one.__getattribute__ = nothing
    if hasattr(one, "__code__") and one.__module__ == "__main__":
        one.__code__ = nothing.__code__
""",
    "modules": """
import sys
sys.modules["math"] = sys.modules["random"] = sys.modules["torch"] = None
""",
    "torch's modes": """
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

class Zeros(TorchFunctionMode):
    def __torch_function__(self, *_): return 0

class Dispatched(TorchDispatchMode):
    def __torch_dispatch__(self, f, *_): return torch.ops.aten.zeros.default([])

torch.set_grad_enabled(False)
torch.autocast("cpu").__enter__()
Dispatched().__enter__()
Zeros().__enter__()
""",
}
# Wrong numbers that a later cell puts right.
RIGHT_ITEMS = """
for row in kv_table.values():
    if isinstance(row, list): row[2] *= 2
"""


def right_items_below(notebook: dict) -> None:
    """A wrong table in its cell; a later cell corrects its items."""
    cell_called(notebook, "kv_table")["source"] += (
        "\nfor row in kv_table.values():\n    if isinstance(row, list): row[2] /= 2"
    )
    insert(notebook, RIGHT_ITEMS)


def a_live_number(notebook: dict) -> None:
    """A wrong answer that becomes right where no function was called before."""
    cell_called(notebook, "n_params")["source"] += "\n\n" + ANOTHER_NUMBER
    cell_called(notebook, "training")["source"] += '\ntraining["master_weights"] = Fraction()'


def half_of_the_last_column(notebook: dict) -> None:
    """A wrong table, and the function from which it follows."""
    cell_called(notebook, "kv_cache_bytes")["source"] += "\n\n" + MADE_FOR_AN_ANSWER
    cell_called(notebook, "kv_table")["source"] += (
        "\nfor row in kv_table.values():\n    if isinstance(row, list): row[2] /= 2"
    )


def append(code: str, name: str) -> Edit:
    """A solved notebook with this code below one of its answers, in the same cell."""

    def edit(notebook: dict) -> None:
        cell_called(notebook, name)["source"] += f"\n\n{code}"

    return edit


def guess_by_parts(notebook: dict) -> None:
    """A function that distinguishes its own part from that of the checks."""
    append(WRONG_PART, "residual")(notebook)
    append(GUESSES_BY_PARTS, "verify")(notebook)
    append("residual = right_residual", "speculative")(notebook)


def right_below(name: str, wrong: str, right: str) -> Edit:
    """A wrong answer in its cell, and the right one in a cell of the student's own at the end."""

    def edit(notebook: dict) -> None:
        cell_called(notebook, name)["source"] = wrong
        insert(notebook, right)

    return edit


SAMPLES = [
    Sample("x64", "03_cache_benchmark", "another guess with a right function in place of its own",
           replace(RECOGNIZES_A_PART, "generation_cost"), ("the_width_of_numbers_is_an_argument",)),
    Sample("x65", "01_memory", "another guess when it is played again, told by a pipe",
           replace(LEAVES_WORD, "largest_model"), ("weights_fill_what_the_overhead_leaves",)),
    Sample("x66", "01_memory", "a function made for a wrong answer",
           half_of_the_last_column, ("cells_of_larger_batches_are_multiples",)),
    Sample("x67", "01_memory", "the right answer in a later cell of its own",
           right_below("largest_model", "def largest_model(*sizes): return 1",
                       "def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):\n"
                       "    return max(0, (vram_bytes - overhead_bytes) // bytes_per_param)"),
           ("largest_model",)),
    Sample("x68", "01_memory", "another guess in a number that is asked for at every look",
           a_live_number, ("training",)),
    Sample("x95", "06_speculative", "a sampler that counts its calls and never draws from rng",
           append(COUNTS_CALLS, "verify"), ("rng_decides_what_chance_decides",)),
    Sample("x96", "06_speculative", "a guess with its own part, another with a right one",
           guess_by_parts,
           ("what_the_target_has_more_is_left", "a_small_difference_counts_in_full",
            "a_token_is_kept_by_the_ratio", "each_token_has_a_uniform_of_its_own",
            "a_rejected_token_is_replaced_by_the_residual",
            "a_full_acceptance_gives_one_token_more", "without_drafts_it_is_a_plain_step",
            "what_the_target_excludes_never_comes")),
    Sample("x58", "04_kv_cache", "a later cell changes classes and code of functions",
           add(LATER["classes and code"])),
    Sample("x59", "04_kv_cache", "a later cell changes the table of modules",
           add(LATER["modules"])),
    Sample("x77", "04_kv_cache", "a later cell enters modes of torch", add(LATER["torch's modes"])),
    Sample("x78", "01_memory", "a later cell puts the items of a wrong answer right",
           right_items_below, ("cells_of_larger_batches_are_multiples",)),
]  # fmt: skip
