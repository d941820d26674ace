"""Run both benches: `python -m autograder.bench [overhead|scale]`."""

import sys

from autograder.bench import overhead, scale

if __name__ == "__main__":
    wanted = sys.argv[1:] or ["overhead", "scale"]
    for bench in (overhead, scale):
        if bench.__name__.rpartition(".")[2] in wanted:
            bench.main()
