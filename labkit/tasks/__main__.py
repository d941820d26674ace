"""`python -m labkit.tasks MODEL`: evaluate a model on the shared tasks."""

import argparse

from labkit.tasks.evaluate import add_arguments, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m labkit.tasks", description=__doc__)
    add_arguments(parser)
    raise SystemExit(main(parser.parse_args()))
