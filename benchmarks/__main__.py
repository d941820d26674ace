"""`python -m autograder.proof.bench [NAME ...]`: all benches if none is named."""

import argparse
import sys

from autograder.proof.bench import desk, durability, overhead, scale
from labkit.measuring.bench import add_quick

BENCHES = {
    "overhead": overhead.main,
    "scale": scale.main,
    "durability": durability.main,
    "desk": desk.main,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    add_quick(parser)
    given = parser.parse_args()
    if unknown := set(given.name) - set(BENCHES):
        parser.error(f"there is no bench {', '.join(sorted(unknown))}: name {', '.join(BENCHES)}")
    sys.exit(max(BENCHES[name](quick=given.quick) for name in given.name or BENCHES))
