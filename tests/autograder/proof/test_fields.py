"""The hidden cases vary each of their fields: many values, the least one, and larger ones.

A field that is always the same, or that never takes its edge, lets a wrong answer pass. A field
that is sometimes 1 in all cases of a seed makes the mark depend on the seed.
"""

import re

import pytest
from fields import faults_of, fields_of
from instances import lab_instances

from autograder.labs import right_of

# Fields that need not vary, or have no edge at 0 or 1, by "exercise field", and why.
EXCEPT = {
    r"\w+ (cell|.*\b(key|right)\b.*)": "which answer it is, and what is right",
    r"\w+ .*\b(expected|\w+_expected|best|kept|after|reads|writes|one|twice|by_reads|as_much)\b.*":
        "a result, or what a slip gives",
    r"\w+ .*\b(seed|id|eos|n_params|d_model|\w*vocab\w*|\w+_bytes|bytes_per_token)": "any number",
    r"\w+ (len\()?(work\.)?(shape|work|config)\.\w+\)?": "sizes of models: real ones, "
        "and made-up ones like them",
    r"\w+ len\(.*\[\]\)": "a record, or a row as long as the others",
    r"\w+ len\((machine.peaks|unsaved|broken|dear|gammas)\)": "a record, or one setting",
    r"((Prefill|Decode)Loop|Scheduler) (len\()?(setup|loads|workloads|kind)\b.*": "settings of "
        "servers: a loop does not read most of them, and checks have capacities of their own",
    r"(Prefill|Decode)Loop len\(jobs\[\].hashes\)": "two servers share no prefix",
    r"Scheduler (order|costs.transfer|jobs\[\].hashes\[\])": "one card: no order of loops and no "
        "store; a hash is any number",
    r"flash_kernel tile_(q|kv)": "matrix products of Triton begin at 16 rows",
    r"time_runs len\(work_s\)": "one run, after one that warms up",
    r"leaves_launch_floor_at n_context": "a check plays the answer itself as the last length",
    r"PrefixCache n_full": "checks play prompts of one block and of two as well",
    r"block_hashes len\(tokens\)": "checks play beginnings of these tokens, none among them",
    r"\w+Cache (len\(.*\)|capacity|n_tokens|chunks\[\]|n_blocks|n_operations)":
        "a life of several steps; checks play one block, a full cache and an empty one",
    r"(does_fit|Request) (size|in_memory\[\]|max_length)": "tokens of a prompt",
    r"(autoregressive|speculative) (draft|gammas\[\]|changes.*)": "no draft; one change each",
    r"(Request|Bucket)Queue len\(.*\)": "several wait; checks take all, and ask an empty queue",
    r"distribution logits\[\]": "any number",
    r"(distribution|residual) len\(.*\)": "a row of the vocabulary, or several",
    r"acceptance_rate blocks\[\].source": "what is not looked at",
    r"rotate head_dim": "it is even, so 2 is the least",
    r"standard_attention tile_\w+": "it has no tiles",
    r"flash_\w+ (n_rows|head_dim|wide|narrow|ragged)": "tiles that divide the rows, and others",
    r"tile_sizes (head_dim|rows)": "a chip that holds some rows; a check plays one without room",
}  # fmt: skip


@pytest.mark.parametrize(
    "lab", [each for each in lab_instances() if right_of(each.values[0].topic)]
)
def test_cases_vary_each_of_their_fields(lab):
    assert {name: faults for name, faults in found_in(lab).items() if not is_excepted(name)} == {}


def found_in(lab):
    """What is wrong with each field of a lab's cases."""
    return {
        f"{exercise} {field}": faults
        for exercise, of_fields in fields_of(lab.topic).items()
        for field, values in of_fields.items()
        if (faults := faults_of(values))
    }


def is_excepted(name):
    return any(re.fullmatch(pattern, name) for pattern in EXCEPT)
