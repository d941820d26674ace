"""`python -m autograder.builder.website FOLDER` builds the site into a folder."""

import sys
from pathlib import Path

from autograder.builder.website import build_website
from autograder.errors import Refusal

try:
    build_website(Path(sys.argv[1]))
except Refusal as refusal:
    sys.exit(f"autograder: {refusal}")
print(Path(sys.argv[1]) / "index.html")
