"""What fuzzing and its growth tests found, each with its claim."""

import json

import pytest

from autograder.intake.read import MAX_CODE_CHARS, Unreadable, read_notebook
from autograder.names import statements
from labkit.bridge.requests import hold, hold_attribute, place, value_of
from labkit.bridge.student import Student, StudentError
from labkit.bridge.wire import WireDecoder, WireError


def sources(content, name="work.py"):
    return [cell.source for cell in read_notebook(content, name)]


def bomb(n_levels):
    """A header of n_levels lines that stands for 9 ** n_levels values."""
    lines = [f"#   a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, n_levels)]
    return "\n".join(["# ---", "# jupyter:", "#   a0: &a0 [x]", *lines, "# ---", "x = 1"]).encode()


def test_aliases_in_a_scripts_header_are_never_expanded():
    assert sources(bomb(40)) == ["x = 1"]
    assert sources(b"# text\n" + bomb(40))[-1].endswith("x = 1")
    assert sources(bomb(3) + b"\n" + bomb(40))[-1].endswith("x = 1")


def test_what_looks_like_a_header_inside_a_cell_stays():
    script = b"# %% [markdown]\n# # Title\n# ---\n# text\n# ---\n# more\n# %%\nx = 1\n"
    assert sources(script) == ["# Title\n---\ntext\n---\nmore", "x = 1"]
    assert sources(b"# ---\n# %%\nx = 1\n# ---\n")[-1] == "x = 1\n# ---"


@pytest.mark.parametrize("separator", "\u2028 \u2029 \x85 \x1c".split(" "))
def test_a_line_separator_in_a_scripts_comment_does_not_end_the_comment(separator):
    assert sources(f"x = 1  # one{separator}two\n".encode()) == ["x = 1  # one two"]


def test_a_carriage_return_alone_ends_a_line():
    """Else `statements` would cut the text at other places than Python does, and lose code."""
    content = json.dumps({"cells": [{"cell_type": "code", "source": "x = 1\ry = 2\r\nz = 3"}]})
    (source,) = sources(content.encode(), "work.ipynb")
    assert statements(source) == ["x = 1", "y = 2", "z = 3"]


@pytest.mark.parametrize("name", ["work.py", "work.ipynb"])
def test_long_code_is_refused_in_a_sentence_and_never_cut(name):
    line = f"text = '{'x' * 990}'\n"
    kept, refused = line * (MAX_CODE_CHARS // len(line)), line * (MAX_CODE_CHARS // len(line) + 2)

    def packed(text):
        cell = {"cell_type": "code", "source": text}
        return (text if name == "work.py" else json.dumps({"cells": [cell]})).encode()

    assert sum(map(len, sources(packed(kept), name))) > len(kept) - 2
    with pytest.raises(Unreadable, match="the limit is 1,048,576"):
        read_notebook(packed(refused), name)


def test_pictures_in_prose_stay_and_only_endless_prose_is_cut_where_it_can_be_seen():
    picture = "![plot](data:image/png;base64," + "iVBOR" * 100_000 + ") It falls."
    cells = [{"cell_type": "markdown", "source": text} for text in (picture, "x" * (5 << 20))]
    first, second = sources(json.dumps({"cells": cells}).encode(), "work.ipynb")
    assert first == picture
    assert second.endswith("cut off)")


def test_attached_pictures_are_kept_and_nothing_else():
    pictures = {"image/png": "aGk=", "image/svg+xml": "<svg>", "image/gif": "<b>", "image/jpeg": 3}
    cell = {"cell_type": "markdown", "source": "", "attachments": {"a.png": pictures, "b": None}}
    (read,) = read_notebook(json.dumps({"cells": [cell]}).encode(), "work.ipynb")
    assert read.attachments == {"a.png": {"image/png": "aGk="}}


@pytest.mark.parametrize("encoding", ["gbk", "big5", "utf-32"])
def test_code_with_comments_in_an_editors_own_encoding_is_read(encoding):
    assert sources("# 注意，設定\nx = 1\n".encode(encoding))[0].split("\n")[1] == "x = 1"


def test_a_script_of_too_many_cells_is_refused_before_it_is_taken_apart():
    with pytest.raises(Unreadable, match="30,000 cells"):
        read_notebook(b"# %%\n" * 30_000, "work.py")


def test_a_script_is_read_the_same_each_time():
    script = b"# %%\nx = 1\n# %% [markdown]\n# text\n"
    assert read_notebook(script, "work.py") == read_notebook(script, "work.py")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf\n", b"\xff\xfe\n\x00"])
@pytest.mark.parametrize("name", ["work.py", "work.ipynb"])
def test_an_empty_file_is_called_empty_in_any_encoding(content, name):
    with pytest.raises(Unreadable, match="empty"):
        read_notebook(content, name)


def same_hash(n):
    return [{"$int": hex(((1 << 61) - 1) * i)} for i in range(1, n + 1)]


def test_keys_chosen_to_share_a_hash_are_refused():
    for keys in ({"$set": same_hash(50)}, {"$dict": [[key, 1] for key in same_hash(50)]}):
        with pytest.raises(WireError, match="share a hash"):
            WireDecoder(b"").decode(keys)
    assert len(WireDecoder(b"").decode({"$set": list(range(20_000))})) == 20_000


@pytest.mark.parametrize("dtype", ["a8", "f8,f4", "3f4", "{'names'", "|O", "<m8", "float64", 5])
def test_numpy_never_parses_a_dtype_that_no_array_has(dtype):
    with pytest.raises(WireError):
        WireDecoder(bytes(8)).decode({"$array": [dtype, [1], [0, 8]]})


def test_a_bool_array_holds_bools_whatever_its_bytes():
    array = WireDecoder(b"\x00\x01\x07").decode({"$array": ["|b1", [3], [0, 3]]})
    assert array.view("uint8").tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", ["$tensor", "$array"])
def test_a_shape_has_a_bounded_number_of_dimensions(kind):
    name = {"$tensor": "float32", "$array": "<f4"}[kind]
    with pytest.raises(WireError, match="65 dimensions"):
        WireDecoder(bytes(4)).decode({kind: [name, [1] * 65, [0, 4]]})


class Forger:
    """A channel whose other end answers every request with one value."""

    def __init__(self, value):
        self.value = value

    def request(self, message, blobs, callbacks):
        return {"ok": True, "value": self.value}, b""


@pytest.mark.parametrize("value", [None, 3, [{"$handle": [0, "x", True]}]])
def test_what_is_held_is_a_handle_or_a_wire_error(value):
    student = Student(Forger(value))
    for ask in (lambda: hold(student.area), lambda: place(student, 1)):
        with pytest.raises(WireError, match="by value"):
            ask()


@pytest.mark.parametrize("value", [None, 3, [1]])
def test_a_value_where_an_object_was_wanted_is_the_students_slip(value):
    student = Student(Forger(value))
    for ask in (hold, value_of, lambda part: hold_attribute(part, "x")):
        with pytest.raises(StudentError, match="no object to work with"):
            ask(student.area.part)
