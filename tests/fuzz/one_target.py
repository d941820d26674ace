"""One target in a process of its own: tries inputs until its time is up, then says how many.

Under atheris what is tried next follows the branches that an input reached; where it is not
installed, hypothesis alone draws the inputs.

    python one_target.py NAME SECONDS ENGINE FOLDER_OF_FINDINGS FILE_OF_THE_INPUT_BEING_TRIED
"""

from __future__ import annotations

import logging
import sys
from contextlib import nullcontext
from itertools import count
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

NAME, SECONDS, ENGINE, FOLDER, CURRENT = sys.argv[1:]
if ENGINE == "atheris":
    import atheris

with atheris.instrument_imports(["autograder", "labkit"]) if ENGINE == "atheris" else nullcontext():
    from targets import TARGETS
    from trying import Run

ROUNDS = settings(
    max_examples=500,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def main() -> None:
    """Fuzz one target; `Run` ends the process."""
    logging.disable()
    run = Run(NAME, float(SECONDS), Path(FOLDER), Path(CURRENT))
    play = ROUNDS(given(content=TARGETS[NAME].inputs)(lambda content: run.play(content)))
    if ENGINE == "atheris":
        options = ["-rss_limit_mb=0", "-timeout=3600", "-max_len=8192", "-len_control=0"]
        options.append(f"-artifact_prefix={CURRENT}.")
        atheris.Setup([sys.argv[0], *options], play.hypothesis.fuzz_one_input)
        atheris.Fuzz()
    for number in count():
        seed(number)(play)()


main()
