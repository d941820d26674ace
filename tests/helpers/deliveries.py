"""What learning platforms and students deliver, as small trees of files."""

import io
import zipfile

from autograder.course.roster import read_roster
from autograder.intake.collect import collect

LAB = "04_kv_cache"


def zipped(files):
    """A zip in memory: path -> bytes or text."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def delivered(folder, files):
    """The files below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def both(tmp_path, files):
    """The same delivery as a folder and as a zip."""
    tmp_path.mkdir(exist_ok=True)
    packed = tmp_path / "packed.zip"
    packed.write_bytes(zipped(files))
    return delivered(tmp_path / "unpacked", files), packed


def collected(place, roster=None):
    """What is collected for the lab, by student: the contents or problems of all attempts."""
    by_student = {}
    for each in collect(place, LAB, roster):
        by_student.setdefault(each.student, []).append(each.content or each.problem)
    return by_student


def roster_of(tmp_path, text):
    """The roster that a table of the class gives."""
    path = tmp_path / "class.csv"
    path.write_text(text, encoding="utf-8")
    return read_roster(path)
