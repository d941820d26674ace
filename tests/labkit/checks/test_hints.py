"""Hints follow a student's tries: the hint, the smallest failing case, what a line must achieve."""

import json

import pytest

from autograder.builder.source import read_labs, solved_text
from autograder.proof.matrix import namespace_of
from labkit.checks import handin
from labkit.checks.core import checks_of, open_cases_of
from labkit.checks.hints.smallest import drawn, smallest_failure
from labkit.checks.hints.tries import MIME, Tries, saved_tries, tries_in, version_of
from labkit.checks.notebook import GOAL, SMALLEST, Checker
from tests.autograder.builder.test_builder import lines_of, telling_lines
from tests.known import mutants_of

LABS = {lab.topic: lab for lab in read_labs()}
NAME = "largest_model"
CLAIM = "wider_parameters_leave_room_for_fewer"
MUTANTS = [
    (topic, mutant)
    for topic, lab in LABS.items()
    for mutant in mutants_of(lab)
    if mutant.exercise in {cell.name for cell in lab.exercises}
]

LATER = [pytest.mark.slow, pytest.mark.long]
SOME = [one if i % 80 == 0 else pytest.param(one, marks=LATER) for i, one in enumerate(MUTANTS)]


class Student:
    """A notebook in which one exercise is written, run and checked again and again."""

    def __init__(self, topic="memory", exercise=NAME):
        self.exercise, self.space = exercise, namespace_of(LABS[topic]) | {"In": [""]}
        self.check = Checker(topic, self.space)
        cell = next(cell for cell in LABS[topic].exercises if cell.name == exercise)
        self.right = solved_text(cell)

    def tries(self, source):
        self.space["In"].append(source)
        exec(compile(source, "<cell>", "exec"), self.space)
        return self.check(self.exercise, points=1)


@pytest.fixture
def student():
    return Student()


def wrong(student, n=0):
    """The answer that always takes two bytes, in its version number n."""
    return student.right.replace("// bytes_per_param", "// 2").replace(
        "    ### END", f"    n = {n}\n    ### END"
    )


def with_no_effect(source):
    return source + "\n    # a comment\n"


def test_the_first_failure_shows_the_hint_of_the_claim_alone(student):
    report = student.tries(wrong(student))
    assert report.later == {}
    assert "hint: Divide by bytes_per_param, not by 2." in str(report)


def test_the_same_code_and_a_comment_do_not_climb(student):
    for source in [wrong(student)] * 3 + [with_no_effect(wrong(student))] * 2:
        assert student.tries(source).later == {}


def test_changed_code_that_fails_again_shows_the_smallest_case_and_then_the_line(student):
    student.tries(wrong(student))
    second, third = student.tries(wrong(student, 1)), student.tries(wrong(student, 2))
    assert [*second.later[CLAIM]] == [SMALLEST] and [*third.later[CLAIM]] == [SMALLEST, GOAL]
    case = second.later[CLAIM][SMALLEST]
    assert case.startswith("`largest_model(16_000_000_000, 0, 4)`\n")
    assert "expected 4,000,000,000, got 8,000,000,000" in case
    line = third.later[CLAIM][GOAL]
    assert "The function uses bytes_per_param, which is not always 2." in line
    assert f"{SMALLEST}:" in str(third) and GOAL in str(third)
    page = third._repr_mimebundle_()["text/html"]
    assert page.index("<summary>hint") < page.index(SMALLEST) < page.index(GOAL)
    assert student.tries(wrong(student, 1)).later == third.later  # it stays where it was


def test_another_claim_that_fails_begins_with_its_own_hint(student):
    for n in range(3):
        student.tries(wrong(student, n))
    report = student.tries(student.right.replace("max(0, ", "max(-1, "))
    assert report.later == {}


def test_when_all_passes_nothing_is_shown_and_the_count_says_so(student):
    student.tries(wrong(student))
    report = student.tries(student.right)
    assert report.later == {}
    assert report.tries == {
        "passed": True,
        "versions": {CLAIM: [version_of([wrong(student)], NAME)]},
    }


def test_what_is_not_written_is_no_try():
    student = Student()
    report = student.tries(f"def {NAME}(*args):\n    raise NotImplementedError('{NAME}')")
    assert report.tries == {"passed": False, "versions": {}}


def test_a_line_that_a_small_change_corrects_is_named():
    student = Student()
    off = student.right.replace("bytes_per_param <= 0", "bytes_per_param < 0")
    for n in range(3):
        report = student.tries(off.replace("    ### END", f"    n = {n}\n    ### END"))
    (hints,) = report.later.values()
    assert "`if bytes_per_param < 0:`\nWith a small change of it, this check passes." in hints[GOAL]


def test_the_calls_of_a_class_name_each_object_and_leave_out_what_follows_the_difference():
    source = Student("kv_cache", "GrowingCache").right
    space = namespace_of(LABS["kv_cache"])
    changed = source.replace("return keys, values,", "return values, keys,")
    exec(compile(changed, "<cell>", "exec"), space)
    check = checks_of("kv_cache")["GrowingCache"][0]
    failure = smallest_failure(check, space, open_cases_of("kv_cache")["GrowingCache"])
    lines = failure.drawn().splitlines()
    assert lines[0] == "`a = GrowingCache(n_layers=1)`"
    assert lines[1].startswith("`a.append(layer=0, keys=<tensor of shape (1, 2, 3, 4)>")
    assert lines[-1].startswith("the keys that come back in step 0; expected")


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # a limit in a callback
@pytest.mark.parametrize("one", SOME, ids=lambda one: f"{one[1].exercise}: {one[1].title}")
def test_known_wrong_answers_get_a_case_and_a_line_and_no_line_of_an_answer(one, monkeypatch):
    topic, mutant = one
    student, lab = Student(topic, mutant.exercise), LABS[topic]
    versions = iter("123")
    monkeypatch.setattr("labkit.checks.notebook.version_of", lambda *_: next(versions))
    monkeypatch.setattr("labkit.checks.hints.smallest.LIMIT_S", 20)  # on a busy machine, too
    for _ in range(3):
        report = student.tries(mutant.source)
    if all(finding.status != "failed" for finding in report.findings):
        return  # it fails on hidden cases alone
    (hints,) = report.later.values()
    assert [*hints] == [SMALLEST, GOAL]
    told = lines_of("\n".join(hints.values()).replace("`", "\n"))
    assert telling_lines(lab, [*LABS.values()]) & told <= lines_of(mutant.source)


def test_an_answer_that_is_a_value_keeps_its_hint_alone():
    space = namespace_of(LABS["memory"]) | {"In": [""]}
    check = Checker("memory", space)
    for n in range(3):
        source = f"training = dict.fromkeys({[*space['training']]}, {n + 77})"
        space["In"].append(source)
        exec(source, space)
        report = check("training", points=1)
        assert "hint: " in str(report) and report.later == {}
    assert max(map(len, report.tries["versions"].values())) == 3


def test_code_without_an_end_is_stopped_and_gets_its_hint_alone(student, monkeypatch):
    monkeypatch.setattr("labkit.checks.notebook.LIMIT_S", 0.2)
    monkeypatch.setattr("labkit.checks.hints.smallest.LIMIT_S", 0.2)
    for n in range(3):
        report = student.tries(f"def {NAME}(*args, **kwargs):\n    n = {n}\n    while True: pass")
        assert report.later == {}


class Shy:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "said"),
    [(3, "3"), (12_345, "12_345"), ("a", "'a'"), ([1] * 99, f"{str([1] * 99)[:37]}..."),
     (Shy(), "<Shy>"), (object(), "<object>"), (print, "<builtin_function_or_method>")],
)  # fmt: skip
def test_any_value_is_drawn_short(value, said):
    assert drawn(value) == said


def saved(outputs, name=f"check_{NAME}", kind="check"):
    """A notebook with one check cell of these outputs."""
    return {"cells": [{"metadata": {"labkit": {"kind": kind, "name": name}}, "outputs": outputs}]}


def test_the_count_outlives_a_restart_in_the_outputs_of_the_file(student, tmp_path, monkeypatch):
    student.tries(wrong(student))
    bundle = student.tries(wrong(student, 1))._repr_mimebundle_()
    path = tmp_path / "lab.ipynb"
    path.write_text(json.dumps(saved([{"text": "x"}, {"data": bundle}])))
    monkeypatch.setattr(handin, "find", lambda lab, folder: path)
    monkeypatch.setattr("labkit.checks.notebook.watch", lambda names: None)
    again = Student()
    again.check._tries = again.check._saved_tries()
    assert again.tries(wrong(student, 1)).later != {}
    assert [*again.tries(wrong(student, 2)).later[CLAIM]] == [SMALLEST, GOAL]


@pytest.mark.parametrize(
    "notebook",
    [None, [], {"cells": 3}, {"cells": [None, {"metadata": 1}]}, saved([]), saved([{"data": 1}]),
     saved([{"data": {MIME: []}}]), saved([{"data": {MIME: {}}}], kind="given")],
)  # fmt: skip
def test_a_file_without_a_count_has_none(notebook):
    assert not any(tries.step for tries in tries_in(notebook).values())


def test_a_forged_count_is_cut_to_its_form():
    forged = {"passed": "yes", "versions": {"a": ["x" * 99] * 99, "b": 3, "c": [1, "y"]}}
    (found,) = tries_in(saved([{"data": {MIME: forged}}])).values()
    assert not found.is_passed and [*found.versions] == ["a", "c"]
    assert len(found.versions["a"]) == 20 and set(found.versions["a"]) == {"x" * 8}
    assert found.versions["c"] == ["y"] and found.step == 3
    assert saved_tries(None) == {} == tries_in({})


def test_a_version_is_the_code_of_the_definition_alone():
    cell = "def f():\n    return 1\n"
    assert version_of([cell], "f") == version_of([f"x = 3\n{cell}  # more\nprint(f())"], "f") != ""
    assert version_of([cell, cell.replace("1", "2")], "f") != version_of([cell], "f")
    assert version_of(["answer = 1"], "answer") != version_of(["answer = 2"], "answer")
    assert version_of(["answer = 1"], "f") == "" == version_of([], "f")
    tries = Tries()
    assert [tries.add("c", "") for _ in range(3)] == [1, 1, 1]
