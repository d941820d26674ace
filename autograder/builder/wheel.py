"""The student's labkit: the package with the answers of this and of later labs taken out.

Answers of earlier labs stay in, so that one bad lab does not sink the next. The grader's child
process gets the same edition: importing the answer is then no way to hand it in.
"""

import hashlib
import io
import tomllib
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from autograder.builder.blank import blank_functions
from autograder.builder.source import REPOSITORY, Lab, read_labs

EPOCH = (2020, 1, 1, 0, 0, 0)  # one time for all: the bytes depend on the content alone
DATA_SUFFIXES = (".json", ".jsonl", ".md", ".safetensors", ".toml", ".txt")
INCOMPRESSIBLE = (".safetensors", ".whl")
WHEEL_TAG = """\
Wheel-Version: 1.0
Generator: autograder
Root-Is-Purelib: true
Tag: py3-none-any
"""


def student_files(lab: Lab, labs: Iterable[Lab] | None = None) -> dict[str, bytes]:
    """The files of the student's labkit for one lab, by path, such as "labkit/memory.py"."""
    blanked = blanked_names(lab, read_labs() if labs is None else labs)
    files = {}
    for path in sorted((REPOSITORY / "labkit").rglob("*.py")):
        name = path.relative_to(REPOSITORY).as_posix()
        module = name.removesuffix(".py").replace("/", ".")
        text = path.read_text(encoding="utf-8")
        files[name] = (
            blank_functions(text, blanked[module]) if module in blanked else text
        ).encode()
    data = REPOSITORY / "data"
    for path in sorted(data.rglob("*")):
        if path.suffix in DATA_SUFFIXES:
            files[f"labkit/data/{path.relative_to(data).as_posix()}"] = path.read_bytes()
    return files


def blanked_names(lab: Lab, labs: Iterable[Lab]) -> dict[str, set[str]]:
    """By module, the functions whose bodies a student of `lab` does not get."""
    blanked: dict[str, set[str]] = {}
    for other in labs:
        if other.number >= lab.number:
            for cell in other.exercises:
                blanked.setdefault(cell.target.module, set()).update(cell.target.blanked)
    return blanked


def write_folder(lab: Lab, folder: Path) -> None:
    """Write the student's labkit as files below `folder`."""
    for name, content in student_files(lab).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def wheel_name(lab: Lab) -> str:
    """The file name of the student's labkit for one lab."""
    return f"labkit-{_version(lab)}-py3-none-any.whl"


def write_wheel(lab: Lab, folder: Path, more: Mapping[str, bytes] | None = None) -> Path:
    """Write the student's labkit as a wheel into `folder`; returns its path.

    more: further files by path, such as explanations after the deadline.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / wheel_name(lab)
    path.write_bytes(zip_bytes(_wheel_files(lab, more or {})))
    return path


def zip_bytes(files: dict[str, bytes]) -> bytes:
    """A zip of these files whose bytes depend on nothing else."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            packing = ZIP_STORED if name.endswith(INCOMPRESSIBLE) else ZIP_DEFLATED
            archive.writestr(ZipInfo(name, EPOCH), content, packing)
    return buffer.getvalue()


def _wheel_files(lab: Lab, more: Mapping[str, bytes]) -> dict[str, bytes]:
    info = f"labkit-{_version(lab)}.dist-info"
    files = {**student_files(lab), **more}
    files[f"{info}/METADATA"] = _metadata(lab).encode()
    files[f"{info}/WHEEL"] = WHEEL_TAG.encode()
    command = _project()["scripts"]["labkit"]
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\nlabkit = {command}\n".encode()
    records = [_record(name, content) for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*records, f"{info}/RECORD,,", ""]).encode()
    return files


def _record(name: str, content: bytes) -> str:
    digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def _project() -> dict:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _version(lab: Lab) -> str:
    return f"{_project()['version']}+lab{lab.number:02d}"


def _metadata(lab: Lab) -> str:
    project = _project()
    required = "".join(f"Requires-Dist: {name}\n" for name in project["dependencies"])
    return (
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {_version(lab)}\n"
        f"Summary: {project['description']}\n"
        f"Requires-Python: {project['requires-python']}\n{required}"
    )
