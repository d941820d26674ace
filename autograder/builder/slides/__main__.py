"""`python -m autograder.builder.slides FOLDER` writes the slides of all labs into a folder."""

import sys
from pathlib import Path

from autograder.builder.slides import write_decks

print(*write_decks(Path(sys.argv[1])), sep="\n")
