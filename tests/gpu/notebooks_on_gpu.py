"""The eight solved notebooks on a GPU, from top to bottom; a plain script, run by hand.

    autograder build
    python tests/gpu/notebooks_on_gpu.py build/instructor OUT.json [WAY ...] [--labs 06,07]

Ways: "as it is", the card at full speed; "15 GB, 7.5" and "22 GB, 8.0", the memory capped and
another compute capability told, as of a T4 and of a smaller Ampere card; "without Triton". All but
the first run small experiments. Notebooks run side by side, so their times are only rough.

Prints a line for each cell as it ends, so that a slow one shows although a limit ends the run, and
one for each notebook: seconds, pictures, slowest cells, faults (errors, empty tables).
The exit status is 1 if there are faults.
"""

import argparse
import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "helpers"))

from play import FIRST_CELL, PlayedCell, faults, n_images, play, with_small_experiments

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FULL = "as it is"
ANOTHER_CARD = """\
import sys

import torch


def pretend(n_bytes, capability):
    card = torch.cuda.get_device_properties(0)
    real_capability = (card.major, card.minor)
    torch.cuda.set_per_process_memory_fraction(n_bytes / card.total_memory)

    class Card:
        name, total_memory = "another card", n_bytes
        major, minor = capability

        def __getattr__(self, name):
            return getattr(card, name)

    def told(*device):
        callers = [sys._getframe(i).f_code.co_filename for i in (1, 2)]
        is_compiler = any("/triton/" in name for name in callers)  # it compiles for the real card
        return real_capability if is_compiler else capability

    torch.cuda.get_device_properties = lambda *_: Card()
    torch.cuda.get_device_capability = told


pretend({n_bytes}, {capability})
"""
WAYS = {
    FULL: "",
    "15 GB, 7.5": ANOTHER_CARD.format(n_bytes=15 * 10**9, capability=(7, 5)),
    "22 GB, 8.0": ANOTHER_CARD.format(n_bytes=22 * 10**9, capability=(8, 0)),
    "without Triton": 'import sys\n\nsys.modules["triton"] = None',
}


def played(path: Path, way: str) -> dict:
    """What became of one notebook in one way."""
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    first = [source for source in (WAYS[way], FIRST_CELL) if source]
    if way != FULL:
        notebook = with_small_experiments(path.stem.partition("_")[2], notebook)
    start_s = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "labkit").symlink_to(REPOSITORY / "labkit")
        (Path(folder) / "data").symlink_to(REPOSITORY / "data")
        cells = play(notebook, Path(folder), first, tell=lambda cell: say(path.stem, cell))
    slowest = sorted(cells, key=lambda cell: -cell.seconds)[:3]
    return {
        "way": way,
        "notebook": path.stem,
        "seconds": round(time.perf_counter() - start_s, 1),
        "pictures": n_images(cells),
        "slowest": {cell.name: round(cell.seconds, 1) for cell in slowest},
        "faults": faults(cells),
    }


def say(notebook: str, cell: PlayedCell) -> None:
    print(f"{notebook} {cell.name}: {cell.seconds:.1f} s {cell.error}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="instructor notebooks: build/instructor")
    parser.add_argument("out", type=Path, metavar="OUT.json")
    parser.add_argument("ways", nargs="*", metavar="WAY", help="all if none is named")
    parser.add_argument("--labs", default="", help="numbers with commas: 06,07")
    given = parser.parse_args()
    labs = tuple(given.labs.split(","))
    paths = [path for path in sorted(given.folder.glob("*.ipynb")) if path.stem.startswith(labs)]
    tasks = [(path, way) for way in given.ways or WAYS for path in paths]
    results = []
    with ThreadPoolExecutor(8) as pool:
        for each in as_completed([pool.submit(played, *task) for task in tasks]):
            result = each.result()
            print(json.dumps(result), flush=True)
            results.append(result)
            given.out.write_text(json.dumps(results, indent=1) + "\n")
    return int(any(result["faults"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
