"""What cannot be read or written says what a person can do, and where.

As reported for other programs: osparc-simcore 2843, jupyter/notebook 3559, nbgrader 1854.
"""

import errno
import fcntl
import os
import struct
import subprocess
import sys

import pytest
from deliveries import LAB, collected, delivered, zipped
from typer.testing import CliRunner

from autograder.cli import app
from autograder.errors import Refusal
from autograder.files import write_whole
from autograder.intake.read import MAX_BYTES
from autograder.record.log import ResultLog


def packed_with(method, content):
    """A zip that says of each member that it is packed with another method."""
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        parts = content.split(signature)
        parts[1:] = [
            part[: place - 4] + struct.pack("<H", method) + part[place - 2 :] for part in parts[1:]
        ]
        content = signature.join(parts)
    return content


@pytest.mark.parametrize(("method", "name"), [(9, "Deflate64"), (20, "Zstandard"), (98, "PPMd"),
                                              (77, "method 77")])  # fmt: skip
def test_a_zip_of_a_method_that_is_not_read_names_it_and_the_way_out(tmp_path, method, name):
    inside = packed_with(method, zipped({"x.ipynb": "a"}))
    place = delivered(tmp_path / "in", {"ann/work.zip": inside, "bob/x.ipynb": "b"})
    found = collected(place)
    assert found["bob"] == [b"b"]
    for words in (name, "unpack it by hand", "give the folder", "ask for a plain zip"):
        assert words in found["ann"][0]
    whole = tmp_path / "class.zip"
    whole.write_bytes(packed_with(method, zipped({"ann.ipynb": "a", "bob.ipynb": "b"})))
    (ann,), (bob,) = collected(whole).values()
    assert ann == bob  # said once for all at the prompt
    assert f"{whole} is packed with {name}" in ann


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_notebook_that_is_too_large_says_how_it_gets_smaller(tmp_path, is_packed):
    large = b" " * (MAX_BYTES + (10 << 20))
    files = {"ann.zip": zipped({"x.ipynb": large})} if is_packed else {"ann.ipynb": large}
    (told,) = collected(delivered(tmp_path, files | {"bob.ipynb": "b"}))["ann"]
    assert told == (
        "the file is over 50 MB (it has 60): hand in the notebook without its outputs (Edit > "
        "Clear Outputs of All Cells)"
    )


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_a_sentence_with_the_folder_and_a_way_out(
    tmp_path, monkeypatch, code
):
    def flock(file, how):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(Refusal) as refused:
        ResultLog(tmp_path / "out" / "results.jsonl")
    for words in (str(tmp_path / "out"), os.strerror(code), "give -o a folder on a disk"):
        assert words in str(refused.value)


def test_an_error_that_names_no_file_gets_the_name_of_the_one_that_was_written(
    tmp_path, monkeypatch
):
    def fsync(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=r"No space.*marks\.csv"):
        write_whole(tmp_path / "marks.csv", b"x", sync=True)


@pytest.mark.parametrize("arguments", [["--version"], ["grade", "--help"], ["cluster-keys", "K"]])
def test_a_closed_pipe_is_a_sentence_on_the_other_stream_and_no_traceback(tmp_path, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "autograder", *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("autograder: the program that read this output has ended")
    assert "> FILE" in done.stderr


def test_a_delivery_that_is_missing_is_still_told_as_before(tmp_path):
    done = CliRunner().invoke(app, ["grade", LAB, str(tmp_path / "no"), "-o", str(tmp_path / "o")])
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "does not exist" in done.output
