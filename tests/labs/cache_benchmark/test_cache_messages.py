"""What the checks of lab 3 say of wrong answers: no wrong cause is named."""

import pytest

from autograder.builder.source import find_lab
from autograder.proof.matrix import findings_for
from tests.known import mutants_of

LAB = find_lab("cache_benchmark")


@pytest.mark.parametrize(
    ("exercise", "title", "cause"),
    [
        ("generation_cost", "bytes first", "Logits were counted"),
        ("generation_cost", "bytes first", "You used 2 bytes"),
        ("predicted_time_s", "moving alone", "in each pass"),
        ("predicted_time_s", "moving alone", "Launching and the pass overlap"),
        ("leaves_launch_floor_at", "the context where none leaves", "A floor equal"),
        ("block_hashes", "a hash for a prompt without blocks", "A block that is not full"),
    ],
)
def test_a_cause_is_named_only_where_it_is_so(exercise, title, cause):
    for mutant in mutants_of(LAB):
        if (mutant.exercise, mutant.title) == (exercise, title):
            findings = findings_for(LAB, exercise, {exercise: mutant.source})
            said = [found.message for found in findings if not found.passed]
            assert said and cause not in " ".join(said)
            return
    raise AssertionError(f"no wrong answer called {title}")
