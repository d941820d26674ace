"""The eight solved notebooks on a GPU that another process fills; a plain script, run by hand.

    autograder build
    python tests/gpu/shared_on_gpu.py build/instructor OUT.json --share 90 97 --labs 02 03 06 07

For each share a second process takes that part of the GPU's free memory. Then the notebooks run, as
large as students have them, `--workers` at once, each `--limit-s` seconds at most. Before them some
steps run out of memory on purpose (`--probes`): whether each way is known as one, and what works
after it.

Prints a line for each probe, for each cell with an error, and for each notebook: cells, seconds,
rows, those without memory, errors. The exit status is 1 if a cell ended in an error, or a probe
failed. On a CPU, `--fake "two of three"` lets memory end as tests do, and no process takes any.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "helpers"))

import no_room
from play import FIRST_CELL, PlayedCell, faults, play, with_small_experiments

from labkit.measuring.records import OUT_OF_MEMORY, read_record

REPOSITORY = Path(__file__).resolve().parent.parent.parent
PROBES = Path(__file__).with_name("memory_probes.py")
LABS = ("06", "02", "03", "07", "05", "04", "01", "08")  # first what takes longest
HOLD = """\
import sys
import torch

free, total = torch.cuda.mem_get_info()
held = torch.zeros(int(free * {share} / 100), dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print(f"{{held.nbytes / 1e9:.1f}} of {{total / 1e9:.1f}} GB are held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(share: int) -> Iterator[str]:
    """A process that holds this part of the GPU's free memory in the meantime; says how much."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    words = [sys.executable, "-c", HOLD.format(share=share)]
    with subprocess.Popen(words, **pipes) as holder:
        said = holder.stdout.readline().strip()
        if not said:
            raise RuntimeError(f"no process could hold {share} % of the GPU: is there one?")
        yield said
        holder.stdin.close()


def played(path: Path, first: list[str], is_small: bool, limit_s: float) -> dict:
    """What became of one notebook."""
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    if is_small:
        notebook = with_small_experiments(path.stem.partition("_")[2], notebook)
    begin_s = time.perf_counter()
    cells: list[PlayedCell] = []

    def tell(cell: PlayedCell) -> None:
        cells.append(cell)
        if cell.error:
            print(f"  {path.stem} {cell.name}: {cell.error[:300]}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name in ("labkit", "data"):
            (Path(folder) / name).symlink_to(REPOSITORY / name)
        stopped = ""
        try:
            play(notebook, Path(folder), [FIRST_CELL, *first], tell=tell, limit_s=limit_s)
        except Exception as error:  # of nbclient: the limit, or a kernel that died
            stopped = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        records = [read_record(each) for each in sorted(Path(folder).glob("*.jsonl"))]
    rows = [row for record in records for row in record.rows]
    texts = [text for cell in cells for text in cell.texts]
    return {
        "notebook": path.stem,
        "cells": len(cells),
        "seconds": round(time.perf_counter() - begin_s, 1),
        "rows": len(rows),
        "lost": sum(row.outcome == OUT_OF_MEMORY for row in rows),
        "sentences": sum("Nothing to show" in t or OUT_OF_MEMORY in t for t in texts),
        "notes": sorted({row.note for row in rows if row.outcome == OUT_OF_MEMORY})[:5],
        "errors": [*faults(cells), *([stopped] if stopped else [])],
        "slowest": {c.name: round(c.seconds) for c in sorted(cells, key=lambda c: -c.seconds)[:3]},
    }


def in_a_line(result: dict) -> str:
    """The result of a notebook, for a terminal."""
    errors = "; ".join(result["errors"]) or "no error"
    return (
        f"{result['notebook']}: {result['cells']} cells in {result['seconds']} s, "
        f"{result['rows']} rows, {result['lost']} without memory, {result['sentences']} outputs "
        f"say so; {errors}"
    )


def probed() -> list[dict]:
    """What the probes found, each in a process of its own."""
    words = [sys.executable, str(PROBES)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    print(said.stdout, said.stderr[-2000:] if said.returncode else "", sep="", flush=True)
    return [{"probes": said.stdout.splitlines(), "errors": [said.stderr] * bool(said.returncode)}]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="solved notebooks: build/instructor")
    parser.add_argument("out", type=Path, help="the JSON file that gets all results")
    parser.add_argument("--share", type=int, nargs="+", default=[90], help="percent of the memory")
    parser.add_argument("--labs", nargs="+", default=LABS, help="numbers, such as 02 03")
    parser.add_argument("--workers", type=int, default=2, help="notebooks at once")
    parser.add_argument("--limit-s", type=float, default=240, help="seconds of a notebook at most")
    parser.add_argument("--small", action="store_true", help="the small experiments of the tests")
    parser.add_argument("--probes", action="store_true", help="run out of memory on purpose first")
    parser.add_argument("--fake", choices=no_room.KINDS, help="no GPU: let memory end like this")
    args = parser.parse_args()
    paths = [path for lab in args.labs for path in args.folder.glob(f"{lab}_*.ipynb")]
    results = probed() if args.probes else []
    for share in [0] if args.fake else args.share:
        with held(share) if share else contextmanager(lambda: iter([args.fake]))() as said:
            print(f"{share} %: {said}", flush=True)
            first = [no_room.cell(args.fake)] if args.fake else []
            with ThreadPoolExecutor(args.workers) as pool:
                tasks = [pool.submit(played, p, first, args.small, args.limit_s) for p in paths]
                for task in as_completed(tasks):
                    result = {"share": share, **task.result()}
                    print(in_a_line(result), flush=True)
                    results.append(result)
                    args.out.write_text(json.dumps(results, indent=1) + "\n")
    return int(any(result["errors"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
