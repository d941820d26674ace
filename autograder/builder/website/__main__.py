"""`python -m autograder.builder.website FOLDER` builds the site into a folder."""

import sys
from pathlib import Path

from autograder.builder.website import build_website

build_website(Path(sys.argv[1]))
print(Path(sys.argv[1]) / "index.html")
