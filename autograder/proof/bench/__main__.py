"""`python -m autograder.proof.bench [NAME ...]`: all benches if none is named."""

import sys

from autograder.proof.bench import desk, durability, overhead, scale

BENCHES = {
    "overhead": overhead.main,
    "scale": scale.main,
    "durability": durability.main,
    "desk": desk.main,
}

if __name__ == "__main__":
    sys.exit(max(BENCHES[name]() for name in sys.argv[1:] or BENCHES))
