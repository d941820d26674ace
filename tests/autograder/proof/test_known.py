"""Known answers as files: edits of the reference, whole answers, classes that change methods."""

import pytest

import tests.known as known
from autograder.builder.source import find_lab
from tests.known import mutants_of, variants_of

REFERENCE = """\
class Box:
    def put(self, thing):
        if thing is None:
            return False
        self.things.append(thing)
        return True
"""


def answer(text):
    return known._answer(text, REFERENCE, "Box", {"a list": "Box = list\n"})


@pytest.fixture
def other_folder(tmp_path, monkeypatch):
    """The folder of lab 1's wrong answers, empty; the known answers of all labs are read again."""
    folder = tmp_path / "memory" / "wrong"
    folder.mkdir(parents=True)
    monkeypatch.setattr(known, "HERE", tmp_path)
    for read in (mutants_of, variants_of):
        read.cache_clear()
    yield folder
    for read in (mutants_of, variants_of):
        read.cache_clear()


def test_an_edit_replaces_lines_at_their_own_indentation():
    edited = answer("# - if thing is None:\n# -     return False\nif not thing:\n    return None\n")
    assert edited == REFERENCE.replace("thing is None", "not thing").replace("False", "None")


def test_several_edits_and_deletions_in_one_cell():
    edited = answer("# - if thing is None:\n# -     return False\n\n# - return True\nreturn 1\n")
    assert edited.splitlines()[2:] == ["        self.things.append(thing)", "        return 1"]


def test_a_part_of_one_line_is_replaced():
    edited = answer("# = thing is None => not thing\n# = return True => return self\n")
    assert edited == REFERENCE.replace("thing is None", "not thing").replace("True", "self")


def test_a_part_and_whole_lines_change_in_one_cell():
    edited = answer(
        "# = is None => == 0\n\n# - return False\nreturn None\n# = True => 1\n# - return 1\n"
    )
    assert edited == REFERENCE.replace("is None", "== 0").replace("False", "None").replace(
        "        return True\n", ""
    )


def test_an_edit_may_change_a_variant():
    assert answer("# of: a list\n# = list => tuple\n") == "Box = tuple\n"


def test_a_class_of_its_own_name_changes_methods_of_the_reference():
    names = {}
    exec(answer("class Box(Box):\n    def take(self):\n        return 1\n"), names)
    assert names["Box"]().take() == 1 and names["Box"]().put(None) is False


def test_a_whole_answer_stays_as_it_is():
    assert answer("Box = dict\n") == "Box = dict\n"


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("# - return None\nreturn 1", "'return None' stands 0 times in the answer, not once"),
        ("# - return\nreturn 1", "'return' stands 0 times in the answer, not once"),
        ("# = n_tokens => 1", "'n_tokens' stands 0 times in the answer, not once"),
        (
            "# = bytes_per_param => 1",
            "'bytes_per_param' stands [2-9] times in the answer, not once",
        ),
        ("# = bytes_per_param", "'# = bytes_per_param' has no ' => '"),
        ("# of: a list\n# = list => tuple", "largest_model has no variant 'a list'"),
    ],
)
def test_an_edit_that_fits_nothing_names_the_file_and_the_title(edit, found, other_folder):
    (other_folder / "largest_model.py").write_text(f"# fails x\n\n# %% odd\n{edit}\n")
    with pytest.raises(ValueError, match=f"largest_model.py, 'odd': {found}"):
        mutants_of(find_lab("memory"))


def test_checks_that_fail_may_take_several_lines(tmp_path):
    path = tmp_path / "f.py"
    path.write_text('"""Doc."""\n\n# fails one two\n#   three\n\n# %% a, b = 1\nx = 1\n\n\ny = 2\n')
    assert list(known._cells(path)) == [
        ((("one", "two", "three"), ()), "a, b = 1", "x = 1\n\n\ny = 2\n")
    ]
