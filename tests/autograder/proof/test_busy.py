"""A busy machine gives the same bytes as an idle one."""

import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest

from autograder.grading.pool import processors
from tests.sample_class import samples_of
from tests.sample_class.demo import RUN, grade_class, is_as_expected

CLASSES = [  # with limits, in seconds, of several times what the slowest cell and check take alone
    ("01_memory", ("carol", "lou"), {"cell_s": 3, "check_s": 3}),
    pytest.param("06_speculative", ("carol",), {"cell_s": 6, "check_s": 4}, marks=pytest.mark.slow),
]
N_BUSY = 2  # beside the one slot, on its processor
PAGES = ("marks.csv", "report.html", "feedback/*/*.html", "integrity/*.html")


@contextmanager
def busy_machine():
    """The processor that the slot will stay on has more to do, however many there are."""
    loop = f"import os\nos.sched_setaffinity(0, {processors(1)})\nwhile True: pass"
    with ExitStack() as stack:
        for _ in range(N_BUSY):
            process = subprocess.Popen([sys.executable, "-c", loop])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield


def graded(samples, folder, limits):
    """What a grading leaves behind, but for the times."""
    run = replace(RUN, jobs=1, limits=replace(RUN.limits, **limits))
    results = grade_class(samples, folder, run)
    assert all(is_as_expected(each, results[each.lab, each.student]) for each in samples)
    pages = [path for pattern in PAGES for path in sorted(folder.glob(pattern))]
    return {
        **{key: result.without_measurements() for key, result in results.items()},
        **{str(path.relative_to(folder)): path.read_bytes() for path in pages},
    }


@pytest.mark.parametrize(("lab", "students", "limits"), CLASSES)
def test_busy_processes_change_no_byte(lab, students, limits, tmp_path):
    samples = samples_of(lab, students)
    alone = graded(samples, tmp_path / "alone", limits)
    with busy_machine():
        crowded = graded(samples, tmp_path / "crowded", limits)
    assert len(alone) > len(samples) == len(students)
    assert crowded == alone
