"""Deliveries: zips of any bytes, folders of any tree."""

import io
import json
import os
import tempfile
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

from damage import damaged
from hypothesis import strategies as st

from autograder.intake.collect import NoSubmissions, collect
from autograder.intake.read import MAX_BYTES

LAB = "01_memory"
MAX_NAME_BYTES = 255


def play_zip(content):
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "all.zip")
        place.write_bytes(content)
        check_collected(place)
        assert list(place.parent.iterdir()) == [place]


def play_folder(content):
    """Build the tree that the JSON describes, and collect it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve() / "in"
        place.mkdir()
        for name, kind, text in json.loads(content):
            with suppress(OSError, ValueError):
                put(place / name, kind, text)
        before = sorted(os.walk(folder))
        check_collected(place)
        assert sorted(os.walk(folder)) == before


def put(path, kind, text):
    """Make one entry of the tree; raises OSError if it cannot be, or would lie behind a link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.resolve() != path.parent.absolute():
        raise OSError("behind a link")
    match kind:
        case "file":
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
        case "zip":
            with path.open("xb") as file:
                file.write(zipped([("a.ipynb", text.encode(errors="replace"))]))
        case "link":
            path.symlink_to(text)
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()


def check_collected(place):
    """Submissions with names that are safe anywhere, the same every time, or a sentence."""
    try:
        submissions = collect(place, LAB)
    except NoSubmissions as problem:
        assert str(problem)
        return
    assert submissions
    keys = [(each.student, each.attempt) for each in submissions]
    assert len(set(keys)) == len(keys)
    for each in submissions:
        check_name(each.student)
        assert each.student.strip()
        assert len(each.content) <= MAX_BYTES + 1
        assert each.problem or each.file_name
        for name in (each.file_name, *each.extra):
            check_name(name)
    assert collect(place, LAB) == submissions


def check_name(name):
    assert "/" not in name and name not in (".", "..")
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert name.isprintable()


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    """A zip of names and contents; names may be there twice."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, data in entries:
            info = zipfile.ZipInfo(name.encode(errors="replace").decode() or "x")
            info.compress_type = method
            if data == b"link":
                info.external_attr = 0o120777 << 16
            archive.writestr(info, data)
    return buffer.getvalue()


parts = st.sampled_from([
    LAB, "ann", "bob", "Ann Lee_123_assignsubmission_file_", "submission_12", "..", ".", "", "雪",
    "é", "__MACOSX", ".ipynb_checkpoints", "a" * 120, "<b>", "=1+1", "a\\b", "C:", "\x01",
    "ann_LATE_12_34_x", "attempt_2", "Participant 123", " ", "nul", "-rf",
]) | st.text(max_size=4)  # fmt: skip
ends = st.sampled_from([
    f"{LAB}.ipynb", f"{LAB}-1.ipynb", f"ann_12_34_{LAB}-2.ipynb", "x.py", "X.IPYNB", ".ipynb",
    "notes.txt", "timestamp.txt", "submission_metadata.yml", "inner.zip", "onlinetext.html",
    "x.ipynb ", "..",
])  # fmt: skip
paths = st.builds(
    lambda above, end: "/".join([*above, end]), st.lists(parts, max_size=3), ends | parts
)
METADATA = """\
submission_12:
  :submitters:
  - :name: Ann
    :sid: '1'
    :email: a@b
  :created_at: 2026-10-01 10:00:00.0 Z
  :history:
  - :id: 3
    :created_at: 2026-09-01 10:00:00.0 Z
"""
BROKEN = METADATA.replace("- :name", "-  :n")
texts = st.sampled_from([
    "{}", '{"cells": []}', "2026-10-01 10:00:00 UTC", METADATA, BROKEN, "&a [*a]", "[" * 9999,
    "link", "../../etc/passwd", "/dev/zero", ".", "",
]) | st.text(max_size=8)  # fmt: skip
methods = st.sampled_from(
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
texts_as_bytes = texts.map(lambda text: text.encode(errors="replace"))
flat_zips = st.builds(zipped, st.lists(st.tuples(paths, texts_as_bytes), max_size=5), methods)
zips = st.recursive(
    flat_zips,
    lambda inner: st.lists(st.tuples(paths, damaged(inner)), max_size=3).map(zipped),
    max_leaves=3,
)
any_zip = damaged(zips)
kinds = st.sampled_from(["file", "file", "file", "zip", "link", "pipe", "folder"])
safe_paths = paths.filter(lambda path: ".." not in path.split("/") and not path.startswith("/"))
any_folder = st.lists(st.tuples(safe_paths, kinds, texts), max_size=6).map(
    lambda tree: json.dumps(tree).encode()
)
