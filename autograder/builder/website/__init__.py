"""The project's web site: documents, labs, figures and docstrings as pages that need no network.

Pages lie where their sources lie in the repository, so a link between two documents holds in both.
"""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder.builder.source import read_course, read_labs
from autograder.builder.website.documents import document_files
from autograder.builder.website.front import front_files
from autograder.builder.website.gallery import gallery_files
from autograder.builder.website.labs import lab_files
from autograder.builder.website.reference import reference_files
from autograder.errors import Refusal
from autograder.files import write_whole
from autograder.places import REPOSITORY


def build_website(out: Path) -> None:
    """Write the site into a folder that any web server, or a browser alone, can read.

    Raises: Refusal if a link leads nowhere or a page cannot be made.
    """
    documents, labs = document_files(), lab_files(read_course().address.rstrip("/"))
    gallery, reference = gallery_files(read_labs()), reference_files(read_labs())
    front = front_files(documents, gallery, reference)
    render(documents | labs | gallery | reference | front, out)


def render(files: Mapping[str, bytes], out: Path) -> None:
    """Write these pages, pictures and downloads as a site; `index.md` is the front page.

    What lies in `moments` is written as it is, because only HTML in a page names it.

    Raises: Refusal as above.
    """
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            write_whole((out if name.startswith("moments/") else Path(folder)) / name, content)
        options = ["-q", "-W", "-c", str(Path(__file__).parent)]
        run = [sys.executable, "-m", "sphinx", *options, "-d", f"{folder}/.doctrees", folder]
        if subprocess.run([*run, str(out.resolve())], cwd=REPOSITORY, check=False).returncode:
            raise Refusal("the site was not built: the lines above name the page and the problem")
