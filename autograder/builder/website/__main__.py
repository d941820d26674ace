"""`python -m autograder.builder.website FOLDER` builds the site into a folder."""

import argparse
import sys
from pathlib import Path

from autograder.builder.website import build_website
from autograder.errors import Refusal

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("folder", type=Path, metavar="FOLDER")
folder = parser.parse_args().folder
try:
    build_website(folder)
except Refusal as refusal:
    sys.exit(f"autograder: {refusal}")
print(folder / "index.html")
