"""A teacher's own nbgrader assignments: honest work gets nbgrader's marks, no forged work does."""

from functools import cache
from types import SimpleNamespace

import nbformat
import pytest
from instances import slow_unless
from own_course import ASSIGNMENTS, FORGED, SHIPPED, notebook, write_course
from recorded import run_nbgrader

from autograder.judging import nbgrader_plugin
from autograder.judging.jobs import Limits
from autograder.judging.judge import Verdict
from autograder.judging.own import inside
from autograder.judging.own.judge import OUTSIDE, OwnStanding, _verdict
from autograder.judging.own.mirrors import AskedStudent, Mirror, is_instance
from autograder.judging.own.outside import Outside, TeachersNames
from autograder.record.gradebook import CONFIG
from labkit.bridge.local import LocalChannel

PLAIN_CONFIG = "c = get_config()\nc.CourseDirectory.course_id = 'plain'\n"
HONEST = ("perfect", "other", "wrong", "blank")
NBGRADERS = {  # what plain nbgrader gives: perfect and other earn all, blank nothing, wrong this
    "arrays": [2, 0.5, 0],
    "files": [1, 0],
    "exceptions": [1, 0, 0],
    "generators": [1, 0, 0, 0],
    "values": [1, 0, 0, 0],
    "printing": [0, 1, 0, 0],
}
NOT_PROTECTED = {("generators", 2), ("printing", 0), ("printing", 3)}
HAND = "by hand"
SHIPPED_MARKS = {  # what plain nbgrader gives in the notebooks of its own tests
    ("squares", "perfect"): [1, 1, 0.5, 0.5, HAND, HAND],
    ("set_a", "perfect"): [1, 1, HAND, HAND],
    ("set_a", "blank"): [1, 0, 0, 0],
    ("set_a", "touched"): [1, 0, 0, 0],
    ("set_a", "quiet"): [1, 0, HAND, HAND],
    ("set_a", "silent"): [1, 0, HAND, HAND],
    ("hidden", "perfect"): [1],
    ("hidden", "wrong"): [0],
    ("hidden", "blank"): [0],
    ("multi", "perfect"): [1, 1, 1, 1],
    ("multi", "wrong"): [1, 1, 0, 1],
}
FORGED_IN = ("arrays", "files", "exceptions", "values")
SHOWN = ("arrays", "generators", "printing", "broken", "set_a")  # the others have a slow course


def points(assignment):
    return [cell[1] for cell in ASSIGNMENTS[assignment] if cell[0] == "test"]


def graded(folder, config, students):
    """The marks of a course after nbgrader's own commands, in order of cells; and what was said."""
    from nbgrader.api import Gradebook

    write_course(folder, config, students)
    steps = (("generate_assignment", "--create", "--force"), ("autograde",))
    commands = [[step[0], name, *step[1:]] for name in students for step in steps]
    done = run_nbgrader(folder, commands)
    marks = {}
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        for assignment in gradebook.assignments:
            for submitted in assignment.submissions:
                given = {
                    grade.name: HAND if grade.needs_manual_grade else grade.auto_score
                    for grade in submitted.notebooks[0].grades
                }
                places = marked_cells(folder / "source" / assignment.name)
                marks[assignment.name, submitted.student.id] = [given[name] for name in places]
    return marks, done.stderr


def marked_cells(folder):
    (path,) = folder.glob("*.ipynb")
    flags = [cell.metadata.get("nbgrader", {}) for cell in nbformat.read(path, as_version=4).cells]
    return [each["grade_id"] for each in flags if each.get("grade")]


def handed_in(assignment):
    return [name for name in SHIPPED[assignment] if name != "source"]


@pytest.fixture(scope="module")
def course_of(tmp_path_factory):
    """`course_of(assignment)`: the graded course in which it is."""
    students = {name: [*HONEST, *(FORGED if name in FORGED_IN else ())] for name in ASSIGNMENTS}
    students |= {name: handed_in(name) for name in SHIPPED}

    @cache
    def graded_course(is_shown):
        folder = tmp_path_factory.mktemp("own") / "course"
        names = [name for name in students if (name in SHOWN) == is_shown]
        marks, said = graded(folder, CONFIG, {name: students[name] for name in names})
        return SimpleNamespace(folder=folder, marks=marks, said=said)

    return lambda assignment: graded_course(assignment in SHOWN)


@pytest.fixture(scope="module")
def course(course_of):
    return course_of(SHOWN[0])


def each_of(assignments):
    return [pytest.param(name, marks=slow_unless(name in SHOWN)) for name in assignments]


def outputs(course, assignment, student):
    path = course.folder / "autograded" / student / assignment / f"{assignment}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    tests = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]
    texts = ["".join(out.get("text", "") for out in cell.outputs) for cell in tests]
    return tests, texts


@pytest.mark.parametrize("assignment", each_of(NBGRADERS))
def test_honest_work_gets_the_marks_that_nbgrader_gives(course_of, assignment):
    full, marks = points(assignment), course_of(assignment).marks
    found = {student: marks[assignment, student] for student in HONEST}
    assert found == {
        "perfect": full, "other": full, "wrong": NBGRADERS[assignment], "blank": [0] * len(full)
    }  # fmt: skip


@pytest.mark.parametrize("assignment", each_of(SHIPPED))
def test_nbgraders_own_notebooks_get_the_same_marks(course_of, assignment):
    for student in handed_in(assignment):
        expected = SHIPPED_MARKS[assignment, student]
        if assignment == "set_a":  # its first cell prints, and everybody passes
            expected = [HAND, *expected[1:]]
        assert course_of(assignment).marks[assignment, student] == expected, student


@pytest.mark.parametrize("student", FORGED)
@pytest.mark.parametrize("assignment", each_of(FORGED_IN))
def test_no_forgery_earns_a_point(course_of, assignment, student):
    assert set(course_of(assignment).marks[assignment, student]) <= {0, HAND}


def test_a_forged_pass_waits_for_a_person_with_the_reason(course):
    assert course.marks["arrays", "patches"][0] == HAND
    assert "patches: a person has to mark test_2: the test passes in the student's" in course.said
    _, texts = outputs(course, "arrays", "patches")
    assert texts[0].startswith("A person marks this cell: the test passes in the student's process")


@pytest.mark.parametrize("assignment", each_of(NBGRADERS))
def test_what_is_not_protected_says_so_on_the_page(course_of, assignment):
    cells, texts = outputs(course_of(assignment), assignment, "perfect")
    for i, (cell, text) in enumerate(zip(cells, texts, strict=True)):
        is_open = text.startswith("Not protected, student code could change this verdict: ")
        assert is_open == ((assignment, i) in NOT_PROTECTED)
        assert cell.metadata["labkit"]["judged"] == ("inside" if is_open else "outside")


def test_what_is_not_protected_is_said_before_grading(course):
    assert "test_6 is not protected: it cannot run outside the student's process" in course.said
    assert "`eval` is not used outside" in course.said


def test_a_cell_that_the_solution_fails_or_the_blank_passes_is_left_to_a_person(course):
    for student in HONEST:
        fair = 1 if student in ("perfect", "other") else 0
        assert course.marks["broken", student] == [HAND, HAND, fair]
    told = "is not judged by us, a person has to mark it:"
    assert f"test_1 {told} the solution itself gets 0 of 1 (AssertionError)" in course.said
    assert f"test_2 {told} a notebook without answers gets 1 of 1" in course.said


def test_students_get_no_hidden_tests(course):
    text = (course.folder / "release" / "arrays" / "arrays.ipynb").read_text()
    assert "double(4)" in text
    assert "double(-7)" not in text


def test_plain_nbgrader_gives_these_marks_and_pays_for_forgeries(tmp_path, request):
    is_large = request.config.getoption("--large")  # it starts a kernel for each notebook
    played = NBGRADERS if is_large else {"arrays": NBGRADERS["arrays"]}
    students = {name: [*HONEST, "patches", "alike"] for name in played}
    if is_large:
        students |= {name: handed_in(name) for name in SHIPPED}
    marks, _ = graded(tmp_path / "plain", PLAIN_CONFIG, students)
    for assignment, wrong in played.items():
        full = points(assignment)
        found = [marks[assignment, student] for student in HONEST]
        assert found == [full, full, wrong, [0] * len(full)]
    shipped = {name: marks[name] for name in SHIPPED_MARKS if is_large}
    assert shipped == (SHIPPED_MARKS if is_large else {})
    assert marks["arrays", "patches"][0] == 2
    assert marks["arrays", "alike"][1:] == [1.5, 1]


def test_a_check_of_ours_that_breaks_leaves_the_cells_to_a_person(monkeypatch):
    made = notebook(ASSIGNMENTS["broken"])
    session = SimpleNamespace(problems=[])
    judge = SimpleNamespace(grade_rebuilt=lambda rebuilt: (Verdict([], ["it broke"]), session))
    monkeypatch.setattr(nbgrader_plugin, "_judge", lambda *names: judge)
    execute = nbgrader_plugin.TrustedExecute()
    execute._judge_lab(made, {"assignment": "a", "notebook": "n", "student": "s"}, [])
    judged = [cell.metadata.get("labkit", {}).get("judged") for cell in made.cells]
    assert judged == [None, HAND, HAND, HAND]


def test_a_cell_without_time_left_is_no_0_but_waits_for_a_person():
    ran = SimpleNamespace(ok=True, outputs=[], ended="")
    child = SimpleNamespace(
        run_cell=lambda *given: ran, end=lambda: None,
        own_time=SimpleNamespace(spent_s=inside.NOTEBOOK_S - 1),
    )  # fmt: skip
    run = inside.OwnRun(SimpleNamespace(spawn=lambda: child), {}, Limits())
    assert run.cell("f = 1") == []
    child.own_time.spent_s += 2
    outputs = run.cell("assert f == 1")
    test = notebook(ASSIGNMENTS["broken"]).cells[1]
    judged = _verdict(test, OwnStanding(OUTSIDE), outputs, [])
    assert judged.how == HAND
    assert judged.reason == "it did not run (NotRun: the notebook had used its 600 s)"


@pytest.fixture
def student():
    """Whose names are those of a cell that runs here."""

    def student(source):
        namespace = {}
        exec(source, namespace)
        return AskedStudent(LocalChannel(namespace))

    return student


def play(source, student):
    return Outside(TeachersNames([], {})).run(source, student)


@pytest.mark.parametrize(
    "source", ["open('x', 'w')", "__import__('os').remove('x')", "import os", "exec(text)",
               "import numpy as np\nnp.load(text)", "eval(text)", "breakpoint()"],
)  # fmt: skip
def test_a_cell_that_reaches_out_does_not_run_outside(student, source):
    (output,) = play(source, student("text = 'x'"))
    assert output.ename == "ImportError"


def test_no_object_of_a_students_decides(student):
    same = student("class Same:\n    def __eq__(self, other): return True\nsame = Same()")
    for source in ("assert same == 3", "assert [same] == [3]", "assert same", "assert not same"):
        assert play(source, same)[0].ename == "TypeError", source
    assert play("same", same)[0].ename == "TypeError"
    assert play("assert same is not None", same) == []


def test_each_cell_sees_the_names_as_they_are_then(student):
    tests = Outside(TeachersNames([], {}))
    source = "def test(n):\n    assert f(1) == n\ntest(2)"
    assert tests.run(source, student("f = lambda x: x + 1")) == []
    assert tests.run("test(3)", student("f = lambda x: x + 2")) == []
    assert tests.run("test(3)", student("pass"))[0].ename == "NameError"


def test_a_class_of_the_students_is_known_and_no_other(student):
    asked = student("class A: pass\nclass B: pass\na = A()")
    a, kinds = asked.ask("value", asked.a), (Mirror(asked, {"$name": "A"}, "A"), int)
    assert is_instance(a, kinds)
    assert is_instance(3, kinds)
    assert not is_instance(a, asked.B)
    assert not is_instance("a", kinds)
