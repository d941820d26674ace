"""The labs that measure, where memory ends: every cell runs, and says what is missing."""

from itertools import product

import no_room
import pytest
from instances import long_unless
from play import FIRST_CELL, faults, play, with_small_experiments

from autograder.builder.source import read_labs
from autograder.builder.wheel import write_folder
from autograder.practice import solved_notebook
from labkit.measuring.records import OUT_OF_MEMORY, read_record

MEASURING = [lab for lab in read_labs() if lab.name[:2] in ("02", "03", "06", "07")]
LATER = (
    "regimes",
    "launches",
    "decode_by_batch",
    "pass_by_length",
    "decode_split",
)  # of later cells in labs 2, 6 and 7
SHOWN = (("02", "nothing"), ("03", "two of three"), ("07", "in the middle"))


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize(
    ("lab", "kind"),
    [
        pytest.param(
            lab,
            kind,
            id=f"{lab.name}-{kind}",
            marks=long_unless(shown in SHOWN),
        )
        for lab, kind in product(MEASURING, no_room.KINDS)
        if (shown := (lab.name[:2], kind))
    ],
)
def test_every_cell_runs_and_says_what_memory_had_no_room_for(lab, kind, tmp_path):
    write_folder(lab, tmp_path)
    notebook = with_small_experiments(lab.topic, solved_notebook(lab))
    first = [FIRST_CELL, no_room.cell(kind)]
    cells = play(notebook, tmp_path, first, {"OMP_NUM_THREADS": "1"})
    assert faults(cells) == []
    (path,) = tmp_path.glob("*.jsonl")
    rows = read_record(path).rows
    lost = [row for row in rows if row.outcome == OUT_OF_MEMORY]
    assert lost
    assert (len(lost) == len(rows)) == (kind == "nothing")
    said = [text for cell in cells for text in cell.texts]
    first_rows = [row for row in rows if row.experiment not in LATER]
    n_lost = sum(row.outcome == OUT_OF_MEMORY for row in first_rows)
    line = f"{path.name}: {len(first_rows)} rows"
    assert any(f"{line}; {n_lost} of them have no time" in text for text in said)
