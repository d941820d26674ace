"""What checks say of a name that is missing, of values left open, and of objects that they lend."""

import json
from types import SimpleNamespace

import pytest

from labkit.bridge.local import local_student
from labkit.bridge.student import Offer, StudentError
from labkit.bridge.waiting import USES, Waiting
from labkit.checks.compare import refuse_blank
from labkit.checks.core import Unfinished
from labkit.checks.names import bound_from
from labkit.checks.notebook import Checker
from labkit.checks.outline import lab_name

LAB = "memory"
DEFINED = "def largest_model(vram_bytes):\n    return vram_bytes // 2"


def write_notebook(folder, *sources):
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    fields = {"cells": cells, "metadata": {"labkit": {"lab": lab_name(LAB)}}}
    (folder / "mine.ipynb").write_text(json.dumps(fields))


def said_of(namespace, exercise="largest_model", failed=()):
    check = Checker(LAB, namespace)
    check._watch = SimpleNamespace(failed=dict(failed), waiting={})
    return str(check(exercise, points=1))


def test_after_a_restart_a_check_says_which_cell_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "Run the cell of `largest_model` first." in said_of({})  # a front end without files
    write_notebook(tmp_path, DEFINED)
    assert "Run the cell of `largest_model` first." in said_of({})


def test_a_name_that_no_cell_of_the_file_defines_is_called_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_notebook(tmp_path, "def weights_bytes(n): return n")
    assert "the notebook does not define largest_model." in said_of({})


def test_a_cell_that_failed_and_defines_nothing_is_named_with_its_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = said_of({}, failed={"largest_model": "NameError: name 'x' is not defined"})
    assert "The cell of `largest_model` ended in NameError: name 'x' is not defined." in text
    assert "version before" not in text


def test_a_name_that_waits_says_for_which_part():
    text = said_of({"kv_table": Waiting("kv_cache_bytes")}, "kv_table")
    assert "this calls `kv_cache_bytes`, which is not written yet." in text


@pytest.mark.parametrize("use", [f"__{use}__" for use in USES])
def test_any_use_of_a_name_that_waits_waits_too(use):
    with pytest.raises(NotImplementedError, match=r"^sweep$"):
        getattr(type(Waiting("sweep")), use)(Waiting("sweep"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (..., "The answer is still `...`. Write your value in its place."),
        ({"a": 1, "b": ..., "c": ...}, "1 of 3 values are filled in. Still open: `b`, `c`."),
        (
            {"training": {"weights": ..., "gradients": 2}, "rows": [1, ...]},
            "2 of 4 values are filled in. Still open: `training: weights`, `rows: item 2`.",
        ),
        (dict.fromkeys("abcdefghij", ...), "0 of 10 values are filled in. Still open: `a`, `b`, "
         "`c`, `d`, `e`, `f`, `g`, `h`, 2 more."),
    ],
    ids=["alone", "keys", "nested", "many"],
)  # fmt: skip
def test_what_is_open_in_an_answer_is_named_by_its_key(answer, said):
    student = local_student({"answer": lambda: answer})
    with pytest.raises(Unfinished) as unfinished:
        refuse_blank(student.answer())
    assert str(unfinished.value) == said


def test_what_a_library_cannot_do_is_an_error_and_no_unwritten_part():
    def asks(*sizes):
        import torch

        return torch.nn.Module()(sizes)

    def waits(*sizes):
        raise NotImplementedError

    text = said_of({"largest_model": asks})
    assert "your code raised NotImplementedError: Module [Module] is missing" in text
    assert "not written yet." in said_of({"largest_model": waits})


USES_OF_A_STAND_IN = {
    "the server has no attribute 'get'; it has now, room": lambda server: server.get,
    "'server' object is not callable": lambda server: server(),
    "'function' object has no attribute 'get'": lambda server: server.now.get,
    "'server' object is not subscriptable": lambda server: server[0],
}


@pytest.mark.parametrize("said", USES_OF_A_STAND_IN)
def test_an_object_of_the_checks_has_the_name_that_students_know(said):
    offer = Offer(attributes={"now": lambda: 0.0, "room": 3}, name="server")
    with pytest.raises(StudentError) as error:
        local_student({"use": USES_OF_A_STAND_IN[said]}).use(offer)
    assert error.value.message == said


def test_a_cell_binds_from_a_line_on_what_it_has_not_bound_before():
    cell = "%matplotlib inline\nkept = 1\nfor i in range(3):\n    late = f(i)\nkept, last = 2, 3"
    assert bound_from(cell, 4) == {"i", "late", "last"}
    assert bound_from(cell, 0) == {"kept", "i", "late", "last"}
    assert bound_from("broken = = 1", 1) == {"broken"}
