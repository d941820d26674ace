"""`make demo`: build the course, grade the sample class, compare every mark with what it should be.

Everything goes below `build/demo`; the exit status is 1 if any mark or status differs.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from autograder.builder.course import build_course, stale_files
from autograder.builder.source import read_labs
from autograder.grading.grade import GradingSettings, grade
from autograder.judging.jobs import Limits
from autograder.practice import Sample
from autograder.record.log import read_results
from autograder.record.results import Result
from tests.sample_class import expected_score, sample_class

OUT = Path("build/demo")
RUN = GradingSettings(
    jobs=os.cpu_count() or 1, seed=0, limits=Limits(cell_s=4, check_s=8, cells_s=60)
)


def main() -> int:
    """Build, grade, compare; returns the exit status."""
    print("building the course", flush=True)
    stale = stale_files()
    build_course(Path("build"))
    for path in stale:
        print(f"rebuilt {path.name}, which was not what its source builds")
    samples = sample_class()
    results = grade_class(samples, OUT, RUN)
    n_wrong = print_table(samples, results)
    print(f"\nPages: {OUT / 'report.html'}, {OUT / 'feedback'}. Results: {OUT / 'results.jsonl'}")
    print(f"Gradebook: start `jupyter lab` in {OUT / 'course'}, then open Nbgrader, Formgrader")
    if n_wrong:
        print(f"{n_wrong} of {len(samples)} marks are not what they should be", file=sys.stderr)
    return 1 if n_wrong else 0


def grade_class(
    samples: list[Sample], out: Path, run: GradingSettings
) -> dict[tuple[str, str], Result]:
    """Write these submissions and grade them into `out`; the results by lab and student."""
    shutil.rmtree(out, ignore_errors=True)
    for sample in samples:
        sample.write(out / "submissions")
    for lab in read_labs():
        if n := sum(sample.lab == lab.name for sample in samples):
            print(f"{lab.name}: grading {n} submissions", flush=True)
            grade(lab, out / "submissions", out, run)
    return {(r.lab, r.student): r for r in read_results(out / "results.jsonl")}


def is_as_expected(sample: Sample, result: Result | None) -> bool:
    """Whether a submission got the mark and the status that it deserves.

    Half a cent is rounded up or down, as the sum of the points comes out.
    """
    if result is None or result.status != sample.status:
        return False
    expected = expected_score(sample)
    if result.score is None or expected is None:
        return result.score == expected
    return abs(result.score - expected) < 0.011


def print_table(samples: list[Sample], results: dict[tuple[str, str], Result]) -> int:
    """The marks beside the expected ones; returns how many differ."""
    n_wrong = 0
    for sample in samples:
        result = results.get((sample.lab, sample.student))
        right = is_as_expected(sample, result)
        n_wrong += not right
        got = "missing" if result is None else f"{_mark(result.score)} {result.status}"
        wanted = f"{_mark(expected_score(sample))} {sample.status}"
        sign = " " if right else "!"
        print(f"{sign} {sample.lab:12} {sample.student:6} {got:18} {wanted:18} {sample.about}")
    return n_wrong


def _mark(score: float | None) -> str:
    return "   –" if score is None else f"{score:5g}"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped")
