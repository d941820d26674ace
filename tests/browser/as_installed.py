"""Every lab as a student has it: a venv with JupyterLab alone, the zip, its cells in a browser.

`make test-oldest` and `make test-newest` make the venv and run this, which its name keeps out of
`make test`: the first cell downloads gigabytes.

    pytest tests/browser/as_installed.py --venv VENV
"""

import io
import json
import zipfile

import nbformat
import pytest
from lab_pages import RUN_TIMEOUT_MS, LabServer, close, errors_on, picture, write_settings
from nbformat.v4 import new_code_cell, new_notebook
from play import SMALL, with_small_experiments

from autograder.builder.editions import edition_of
from autograder.builder.source import read_labs
from autograder.practice import solved_notebook
from labkit.labs.show import players

INSTALL_MS = 30 * 60_000
OUTPUTS = ".jp-OutputArea-output"
ON_STDERR = f"{OUTPUTS}[data-mime-type*=stderr]"
PICTURE = """widget => [...widget.querySelectorAll('.widget-html-content')]
    .map(part => part.innerHTML).join()"""


@pytest.fixture(scope="module")
def students(request, jupyter, tmp_path_factory):
    """JupyterLab of the student's venv, on a folder that is empty but for its settings."""
    venv = request.config.getoption("--venv")
    if venv is None:
        pytest.fail("This needs --venv, a student's venv: run make test-newest.")
    folder = tmp_path_factory.mktemp("student")
    write_settings(folder / "config")
    (folder / "labs").mkdir()
    python = str(venv.absolute() / "bin/python")
    settings = {"JUPYTER_CONFIG_DIR": str(folder / "config"), "PYTHONPATH": ""}
    with jupyter(folder / "labs", python=python, **settings) as address:
        yield LabServer(folder / "labs", address)


def unpacked(lab, folder):
    """Unpack the zip of a lab into a folder; returns the notebook's path and its first cell."""
    with zipfile.ZipFile(io.BytesIO(edition_of(lab).zipped(""))) as archive:
        archive.extractall(folder)
    path = folder / f"{lab.name}.ipynb"
    cells = json.loads(path.read_text())["cells"]
    return path, next("".join(cell["source"]) for cell in cells if cell["id"] == "install")


def of_a_student(lab, notebook, first_cell, large):
    """A notebook with the first cell of the zip."""
    (install,) = [cell for cell in notebook["cells"] if cell.get("id") == "install"]
    install["source"] = first_cell
    if large:
        return notebook
    install["source"] += f"\n\n\n{SMALL}"
    return with_small_experiments(lab.topic, notebook)


def texts(page, selector):
    return [text[-1500:] for text in page.locator(selector).all_text_contents()]


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_every_cell_runs_without_an_error_or_a_warning(students, browser, shoot, request, lab):
    folder = students.folder / lab.name
    path, first_cell = unpacked(lab, folder)
    cells = [new_code_cell(first_cell), new_code_cell("import labkit")]
    alone = new_notebook(cells=cells, metadata=json.loads(path.read_text())["metadata"])
    first = students.put_alone(alone, f"{lab.name}/first")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    students.run_all(page, first, INSTALL_MS)
    said = texts(page, OUTPUTS)
    assert any(f"labkit {edition_of(lab).version} is " in text for text in said), said
    shoot(page, f"installed-{lab.name}.png")
    close(page)

    large = request.config.getoption("--large")
    kinds = {"blank": nbformat.read(path, as_version=4), "solved": solved_notebook(lab)}
    for kind, notebook in kinds.items():
        path.write_text(json.dumps(of_a_student(lab, notebook, first_cell, large)))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        students.run_all(page, path, 3 * RUN_TIMEOUT_MS)
        picture(page, shoot, f"installed-{lab.name}-{kind}.png")
        assert errors_on(page) == []
        assert texts(page, ON_STDERR) == []
        assert [text for text in texts(page, OUTPUTS) if "Warning" in text] == []
        assert n_widgets(page) >= (kind == "solved" and lab.topic in players())
        close(page)


def n_widgets(page):
    """How many widgets are there, once the picture of each has followed its first slider."""
    widgets = page.locator(f"{OUTPUTS} > .jupyter-widgets").all()
    for widget in widgets:
        for handle in widget.locator(".noUi-handle").all()[:1]:
            handle.scroll_into_view_if_needed()
            start, least = (handle.get_attribute(f"aria-value{which}") for which in ("now", "min"))
            seen = [widget.element_handle(), widget.evaluate(PICTURE)]
            handle.press("End" if start == least else "Home")
            moved = f"([widget, before]) => ({PICTURE})(widget) !== before"
            page.wait_for_function(moved, arg=seen, timeout=RUN_TIMEOUT_MS)
    return len(widgets)
