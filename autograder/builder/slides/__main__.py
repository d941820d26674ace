"""`python -m autograder.builder.slides FOLDER` writes the slides of all labs into a folder."""

import argparse
from pathlib import Path

from autograder.builder.slides import write_decks

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path, metavar="FOLDER")
print(*write_decks(parser.parse_args().folder), sep="\n")
