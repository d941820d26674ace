"""`python -m benchmarks [NAME ...]`: all benches if none is named; records go to `build/bench`."""

import argparse
import sys
from importlib import import_module

BENCHES = ("overhead", "scale", "durability", "desk", "pair", "batching", "engine")


def main() -> int:
    """Run the benches that are named; returns the highest exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the smallest sizes: this shows that a bench runs, its numbers mean nothing",
    )
    given = parser.parse_args()
    if unknown := set(given.name) - set(BENCHES):
        parser.error(f"there is no bench {', '.join(sorted(unknown))}: name {', '.join(BENCHES)}")
    benches = [import_module(f"benchmarks.{name}") for name in given.name or BENCHES]
    return max(bench.main(quick=given.quick) or 0 for bench in benches)


if __name__ == "__main__":
    sys.exit(main())
