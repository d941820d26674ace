"""One source, three products: what is blanked, what stays, and that no answer gets out."""

import ast
import io
import json
import re
import subprocess
import sys
import zipfile
from itertools import pairwise

import nbformat
import pytest
from instances import lab_instances
from leaks import lines_of, normalise, solution_lines, telling_lines
from nbgrader.preprocessors import CheckCellMetadata

from autograder import places
from autograder.builder import source
from autograder.builder.blank import (
    BEGIN,
    END,
    STUB,
    blank_functions,
    blank_values,
    parse_target,
    solved_cell,
    stub_cell,
)
from autograder.builder.course import stale_files
from autograder.builder.editions import data_wheel, edition_of
from autograder.builder.notebooks import build_notebook, cell_kind, cell_name, sign, to_bytes
from autograder.builder.source import module_source, read_course, read_lab, read_labs
from autograder.builder.wheel import student_files
from autograder.errors import Refusal
from autograder.judging.nbgrader_plugin import ClearAnswers

MODULE = '''\
"""A module."""

LIMIT = 3


def double(x: int) -> int:
    """Twice x."""

    # by the book
    return 2 * x


class Box:
    """Holds things."""

    def __init__(self, n: int) -> None:
        """Make room."""
        self.n = n

    @property
    def size(self) -> int:
        return self.n  # a count

    def put(
        self, thing: object
    ) -> None:
        """Put it in."""
        def inner():
            return thing
        self.thing = inner()
'''
LABS = read_labs()
LAB_IDS = [lab.name for lab in LABS]
KIT = [lab for lab in LABS if lab.name in read_course().counts_as]


def target(names):
    return parse_target(f"m:{names}", MODULE)


def test_a_stub_keeps_signature_and_docstring():
    expected = 'def double(x: int) -> int:\n    """Twice x."""\n\n    ' + "\n    ".join(STUB)
    assert stub_cell(MODULE, target("double")) == expected


def test_a_solved_cell_has_the_answer_between_the_markers():
    lines = solved_cell(MODULE, target("double")).splitlines()
    assert lines[3:] == [f"    {BEGIN}", "    # by the book", "    return 2 * x", f"    {END}"]


def test_a_class_is_blanked_whole_or_by_method():
    whole = stub_cell(MODULE, target("Box"))
    assert "self" not in whole.replace("(self", "").replace("        self, thing", "")
    some = stub_cell(MODULE, target("Box.put"))
    assert "self.n = n" in some
    assert "inner" not in some


def test_blanked_code_still_parses_and_keeps_the_rest():
    blanked = blank_functions(MODULE, {"double", "Box.put", "Box.size"})
    ast.parse(blanked)
    assert "LIMIT = 3" in blanked
    assert "self.n = n" in blanked
    assert "2 * x" not in blanked


@pytest.mark.parametrize("bad", ["m:nothing", "m:double,Box", "m:", ":double", "m:Box.nothing"])
def test_a_target_that_is_not_there_is_an_error(bad):
    with pytest.raises(ValueError, match=r"exercise|has no"):
        parse_target(bad, MODULE)


def test_values_become_dots_and_comments_stay():
    source = 'a = {\n    "unit": "GB",  # GB or GiB\n    "n": [1, -2.5, (3, "é")],\n}\nb = f(3)'
    assert blank_values(source) == (
        'a = {\n    "unit": ...,  # GB or GiB\n    "n": [..., ..., (..., ...)],\n}\nb = ...'
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# %%\nx = 1", "exactly one"),
        ('# %% given="a" exercise="b"\n', "exactly one"),
        ('# %% answer="a"\na = 1', "points"),
        ('# %% given="a" points=2\na = 1', "points"),
        ('# %% given="not a name"\na = 1', "not a name"),
        ('# %% given="a"\n1\n# %% experiment="a"\n1', "two cells"),
        ('# %% exercise="labkit.bridge.wire:send" points=1\nx = 1', "comes from labkit"),
        ('# %% given="a" extra="b"\n', "exactly one"),
    ],
)
def test_an_authors_slip_names_the_cell(tmp_path, text, message):
    path = tmp_path / "01_topic.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_lab(path)


def read_only(tmp_path, monkeypatch, *names):
    """The course with these exercises only read."""
    text = places.COURSE.read_text(encoding="utf-8")
    course = tmp_path / "course.toml"
    assert text.count("reading = []") == 1
    course.write_text(text.replace("reading = []", f"reading = {[*names]}"), encoding="utf-8")
    monkeypatch.setattr(places, "COURSE", course)


def test_an_exercise_that_is_only_read_shows_its_answer_and_has_no_points(tmp_path, monkeypatch):
    before = next(lab for lab in LABS if lab.exercises)
    name = before.exercises[-1].name
    read_only(tmp_path, monkeypatch, name)
    lab = source._read_lab.__wrapped__(places.source_of(before.name), False)
    assert name not in [cell.name for cell in lab.marked]
    points = [sum(cell.points for cell in each.cells) for each in (before, lab)]
    assert points[0] - points[1] == before.exercises[-1].points
    (cell,) = (cell for cell in lab.cells if cell.name == name)
    text = json.dumps(build_notebook(lab, "student"))
    assert json.dumps(cell.text)[1:-1] in text and BEGIN not in cell.text
    assert f'check(\\"{name}\\"' not in text


def test_only_exercises_can_be_read(tmp_path, monkeypatch):
    read_only(tmp_path, monkeypatch, "no_such_exercise")
    with pytest.raises(Refusal, match="reading: there is no exercise 'no_such_exercise'"):
        read_labs()


@pytest.fixture(scope="module")
def stale():
    return stale_files()


@pytest.mark.parametrize("lab", LABS, ids=LAB_IDS)  # so that `--lab` plays it, too
def test_committed_notebooks_are_what_their_sources_build(stale, lab):
    assert stale == []


@pytest.mark.parametrize("lab", LABS, ids=LAB_IDS)
@pytest.mark.parametrize("edition", ["student", "instructor"])
def test_the_same_source_gives_the_same_valid_bytes(lab, edition):
    first = to_bytes(build_notebook(lab, edition))
    assert first == to_bytes(build_notebook(lab, edition))
    notebook = nbformat.reads(first.decode(), as_version=4)
    CheckCellMetadata().preprocess(notebook, {})
    ids = [cell["id"] for cell in notebook.cells]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("lab", LABS, ids=LAB_IDS)
def test_nbgrader_clears_the_instructors_notebook_into_the_students(lab):
    instructor = build_notebook(lab, "instructor")
    cleared, _ = ClearAnswers().preprocess(instructor, {})
    student = build_notebook(lab, "student")
    assert [cell.source for cell in cleared.cells] == [cell.source for cell in student.cells]


@pytest.mark.parametrize("lab", LABS, ids=LAB_IDS)
def test_every_marked_cell_has_its_checks_below_and_a_question_its_points(lab):
    cells = build_notebook(lab, "student").cells
    marked = {cell.name for cell in lab.marked}
    signs = {cell.name: sign(cell) for cell in lab.cells if cell.points}
    for cell, below in pairwise(cells):
        if cell_name(cell) in marked:
            assert cell_kind(below) == "check"
            assert below.metadata.nbgrader.points > 0
        is_signed = cell_kind(cell) == "prose" or cell_kind(below) != "answer"
        if cell_name(below) in signs and cell_kind(below) != "check" and is_signed:
            assert cell.source.endswith(signs[cell_name(below)])


@pytest.mark.parametrize("lab", KIT, ids=lambda lab: lab.name)
def test_an_exercise_says_how_long_it_takes_and_how_hard_it_is(lab):
    assert [cell.name for cell in lab.exercises if not (cell.minutes and cell.level)] == []


def test_a_notebook_names_its_course_and_deadline_and_asks_who_the_student_is():
    for lab in KIT:
        notebook = build_notebook(lab, "student")
        title, _, line = notebook.cells[0].source.splitlines()[:3]
        assert title.startswith("# ") and re.search(r"Due 20\d\d-\d\d-\d\d \d\d:\d\d", line)
        sources = {cell_name(cell): cell.source for cell in notebook.cells}
        assert sources["student_id"].startswith("student_name = ...\nstudent_id = ...")


def released_texts(lab):
    """Every text in what a student of this lab gets, by file."""
    texts = {}
    with zipfile.ZipFile(io.BytesIO(edition_of(lab).zipped("https://course.example"))) as archive:
        for name in archive.namelist():
            if name.endswith(".whl"):
                wheel = zipfile.ZipFile(io.BytesIO(archive.read(name)))
                texts |= {n: wheel.read(n).decode("latin-1") for n in wheel.namelist()}
            elif name.endswith(".ipynb"):
                cells = json.loads(archive.read(name))["cells"]
                texts[name] = "\n".join("".join(cell["source"]) for cell in cells)
            else:
                texts[name] = archive.read(name).decode()
    return texts


@pytest.mark.parametrize("lab", lab_instances())
def test_no_line_of_an_answer_is_in_anything_a_student_gets(lab):
    telling = telling_lines(lab, LABS)
    for name, text in released_texts(lab).items():
        assert telling & lines_of(text) == set(), name


@pytest.mark.parametrize("lab", LABS, ids=LAB_IDS)
def test_the_students_labkit_keeps_earlier_answers_and_blanks_later_ones(lab):
    files = student_files(lab)
    for other in LABS:
        for cell in other.exercises:
            path = cell.target.module.replace(".", "/") + ".py"
            if path not in files:
                continue
            lines = {normalise(line) for line in files[path].decode().splitlines()}
            answer = solution_lines(module_source(cell.target.module), cell.target.blanked)
            assert (answer <= lines) == (other.number < lab.number), cell.name


@pytest.mark.parametrize("lab", lab_instances())
def test_the_wheels_are_valid_small_and_always_the_same(lab):
    data, labkit = edition_of(lab).wheels
    data_wheel.cache_clear()
    assert edition_of(lab).wheels == (data, labkit)
    assert len(labkit.content) < 1_000_000
    for wheel in (data, labkit):
        with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
            assert archive.testzip() is None
            names = set(archive.namelist())
            record = next(name for name in names if name.endswith("RECORD"))
            listed = {line.split(",")[0] for line in archive.read(record).decode().splitlines()}
        assert listed == names
        assert {name.split("/")[0].split("-")[0] for name in names} == {wheel.package}


def test_reading_all_labs_loads_no_torch():
    """Every command reads them: the seconds that torch takes would be paid by each."""
    code = "import sys; from autograder.builder import source; source.read_labs(); "
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" not in done.stdout.split()
