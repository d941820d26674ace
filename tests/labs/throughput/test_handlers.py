"""Where memory is freed, as the text of a sweep says: nothing that is right is refused."""

import pytest

from autograder.builder.source import find_lab, solved_text
from labkit.labs.throughput.checks.handlers import is_freed_inside_except
from labkit.labs.throughput.checks.shown_free import is_shown_free
from tests.known import mutants_of, variants_of

LAB = find_lab("throughput")
(CELL,) = [each for each in LAB.cells if each.name == "sweep"]
RIGHT = [solved_text(CELL), *(v.source for v in variants_of(LAB) if v.exercise == "sweep")]
FREED = "memory_is_freed_once_the_exception_is_gone"
HEAD = "def sweep(points, run, keep, free, done=()):\n    for point in points:\n"


@pytest.mark.parametrize("text", RIGHT)
def test_no_right_sweep_frees_memory_inside_except(text):
    assert not is_freed_inside_except(text)


@pytest.mark.parametrize("text", RIGHT)
def test_each_right_sweep_shows_that_the_exception_is_gone(text):
    assert is_shown_free(text)


@pytest.mark.parametrize("first", ["%%time\n", "\n  %%capture out --no-stderr\n"])
def test_a_cell_that_is_timed_shows_what_it_shows_without(first):
    assert is_shown_free(first + RIGHT[0])
    assert not is_shown_free(RIGHT[0] + "\n" + first)
    assert not is_shown_free("%%mine\n" + RIGHT[0])


TRY = "        try: run(point)\n        except MemoryError as error: "
SECRET = {
    "by a function of its own": TRY + "later(free)\n",
    "by another name": "        f = free\n" + TRY + "f()\n",
    "by a lambda": TRY + "(lambda: free())()\n",
    "by a function inside": "        def f(): free()\n" + TRY + "f()\n",
    "while it has a name": TRY + "kept = error\n        free()\n",
    "while a list has it": TRY + "kept.append(error)\n        free()\n",
    "in the next turn": "        free()\n" + TRY + "kept = error\n",
    "by a helper that runs it": "        attempt(run, point)\n        free()\n",
    "after it was looked for": TRY + "kept = sys.exc_info()\n        free()\n",
    "from a function inside": "        def f():\n            try: run(point)\n"
    "            except MemoryError as e: return e\n        kept = f()\n        free()\n",
    "where it may be in flight": "        try: run(point)\n        finally: free()\n",
    "while an attribute is set": TRY + "kept = error\n        point.kept = 0\n        free()\n",
    "after a break": TRY
    + "kept = error\n        if point: break\n        kept = None\n    free()\n",
    "never": TRY + "pass\n",
    "without a handler": "        run(point)\n        free()\n",
    "at the end of another": TRY + "pass\nsweep = wrapped(sweep)\n",
}


@pytest.mark.parametrize("body", SECRET.values(), ids=SECRET)
def test_a_text_that_may_free_memory_while_the_exception_exists_shows_nothing(body):
    assert not is_shown_free(HEAD + body)
    assert is_shown_free(HEAD + TRY + "pass\n        free()\n")


def test_no_text_shows_nothing():
    assert not is_shown_free("")


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
