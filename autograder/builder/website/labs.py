"""Each lab as a page: the student's notebook, with stubs and without output."""

import json
from collections.abc import Iterator

from autograder.builder.colab import colab_address
from autograder.builder.course import student_notebook_path
from autograder.builder.editions import NOTEBOOK
from autograder.builder.notebooks import cell_kind
from autograder.builder.pictures import NAME, picture_path
from autograder.builder.source import Lab, read_labs

FOLDED = """\
<details><summary>{summary}</summary>

{code}

</details>"""


def lab_files(address: str) -> dict[str, bytes]:
    """Pages, notebooks and opening pictures of all labs, by path in the repository.

    address: where the course is released; "" if nowhere.
    """
    files = {}
    for lab in read_labs():
        notebook = student_notebook_path(lab).read_bytes()
        files[f"notebooks/{lab.name}.ipynb"] = notebook
        files[f"notebooks/{lab.name}.md"] = lab_page(lab, json.loads(notebook), address).encode()
        if picture_path(lab).exists():
            files[f"notebooks/pictures/{lab.name}.png"] = picture_path(lab).read_bytes()
    return files


def lab_page(lab: Lab, notebook: dict, address: str) -> str:
    """A lab's notebook in Markdown, with links to the file and to Colab below its title."""
    title, _, first = "".join(notebook["cells"][0]["source"]).partition("\n")
    links = " · ".join(f"[{name}]({link})" for name, link in _links(lab, address))
    rest = [_shown(cell) for cell in notebook["cells"][1:]]
    text = "\n\n".join([title, links, first, *rest, ""])
    return text.replace(f"attachment:{NAME}", f"pictures/{lab.name}.png")


def _links(lab: Lab, address: str) -> Iterator[tuple[str, str]]:
    """The released notebook if there is one; else that of the repository."""
    path = NOTEBOOK.format(lab.name)
    if link := colab_address(address, path):
        yield "Open in Colab", link
    yield "Download the notebook", f"{address}/{path}" if address else f"{lab.name}.ipynb"
    if address:
        yield "Download all files of the lab", f"{address}/zips/{lab.name}.zip"


def _shown(cell: dict) -> str:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return text
    code = f"````python\n{text}\n````"
    if cell_kind(cell) == "install":
        return FOLDED.format(summary="The first cell installs labkit for this lab", code=code)
    return code
