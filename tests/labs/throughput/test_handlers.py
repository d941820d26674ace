"""Where memory is freed, as the text of a sweep says: nothing that is right is refused."""

import pytest

from autograder.builder.source import find_lab, solved_text
from labkit.labs.throughput.checks.handlers import is_freed_inside_except
from tests.known import mutants_of, variants_of

LAB = find_lab("throughput")
(CELL,) = [each for each in LAB.cells if each.name == "sweep"]
RIGHT = [solved_text(CELL), *(v.source for v in variants_of(LAB) if v.exercise == "sweep")]
FREED = "memory_is_freed_once_the_exception_is_gone"
HEAD = "def sweep(points, run, keep, free, done=()):\n    for point in points:\n"


@pytest.mark.parametrize("text", RIGHT)
def test_no_right_sweep_frees_memory_inside_except(text):
    assert not is_freed_inside_except(text)


def test_a_sweep_that_frees_memory_inside_except_is_found():
    wrong = [each for each in mutants_of(LAB) if each.exercise == "sweep"]
    found = [each for each in wrong if is_freed_inside_except(each.source)]
    assert "freed inside except" in [each.title for each in found]
    assert all(FREED in each.caught_by for each in found)


@pytest.mark.parametrize(
    ("body", "is_inside"),
    [
        ("try: run(point)\n        except MemoryError: free()", True),
        (
            "try: run(point)\n        except (OSError, Exception):\n            if point: free()",
            True,
        ),
        ("try: run(point)\n        except: free()", True),
        ("try: run(point)\n        except KeyError: free()", False),
        ("try: run(point)\n        except MemoryError: later.append(free)", False),
        ("try: run(point)\n        except MemoryError: later = lambda: free()", False),
        ("try: pass\n        except Exception: free()", False),
        (
            "try:\n            try: run(point)\n            except MemoryError: pass\n"
            "        except Exception: free()",
            False,
        ),
        ("free(", False),
    ],
)
def test_only_what_catches_the_error_of_the_measurement_is_looked_at(body, is_inside):
    assert is_freed_inside_except(f"{HEAD}        {body}\n") == is_inside
