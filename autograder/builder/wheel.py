"""The student's labkit: what the lab reaches, with the answers of this and of later labs taken out.

Answers of earlier labs stay in, so that one bad lab does not sink the next. The grader's child
process gets the same edition: importing the answer is then no way to hand it in.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from autograder.builder.blank import Target, blank_functions
from autograder.builder.closure import reached_modules
from autograder.builder.source import Lab, read_project, targets_from
from autograder.files import zip_bytes
from autograder.imports import file_of, needed_by_file
from autograder.places import REPOSITORY

_NAME = re.compile(r"\w+")
DATA_SUFFIXES = (".json", ".jsonl", ".md", ".safetensors", ".toml", ".txt")
WHEEL_TAG = """\
Wheel-Version: 1.0
Generator: autograder
Root-Is-Purelib: true
Tag: py3-none-any
"""


def student_files(lab: Lab) -> dict[str, bytes]:
    """The files of the student's labkit for one lab, by path, with its data inside of it."""
    return code_files(lab) | data_files("labkit/data")


def code_files(lab: Lab) -> dict[str, bytes]:
    """The student's labkit for one lab without its data, by path, such as "labkit/memory.py"."""
    blanked = blanked_names(targets_from(lab))
    files = {}
    for module in sorted(reached_modules(lab)):
        text = file_of(module).read_text(encoding="utf-8")
        text = blank_functions(text, blanked[module]) if module in blanked else text
        files[_path_of(file_of(module))] = text.encode()
    for path in sorted((REPOSITORY / "labkit/labs" / lab.topic).glob("*.json")):
        files[_path_of(path)] = path.read_bytes()
    return files


def packages_needed(files: Mapping[str, bytes]) -> list[str]:
    """What these files import, as pyproject.toml asks for it."""
    code = [REPOSITORY / name for name in files if name.endswith(".py")]
    imported = {name.partition(".")[0] for path in code for name in needed_by_file(path)}
    return [each for each in read_project()["dependencies"] if _NAME.match(each)[0] in imported]


def data_files(folder: str) -> dict[str, bytes]:
    """The files of the kit's data folder, by the path that they have below another one."""
    data = REPOSITORY / "data"
    return {
        f"{folder}/{path.relative_to(data).as_posix()}": path.read_bytes()
        for path in sorted(data.rglob("*"))
        if path.suffix in DATA_SUFFIXES
    }


def blanked_names(targets: Iterable[Target]) -> dict[str, set[str]]:
    """By module, the functions whose bodies are blanked for students who write these exercises."""
    blanked: dict[str, set[str]] = {}
    for target in targets:
        blanked.setdefault(target.module, set()).update(target.blanked)
    return blanked


def write_folder(lab: Lab, folder: Path) -> None:
    """Write the student's labkit as files below `folder`."""
    for name, content in student_files(lab).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@dataclass(frozen=True)
class Wheel:
    """A wheel as bytes. package: what Python imports, "labkit_data"."""

    package: str
    version: str
    content: bytes

    @property
    def file_name(self) -> str:
        return f"{self.package}-{self.version}-py3-none-any.whl"

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def pack_wheel(
    package: str,
    prefix: str,
    files: Mapping[str, bytes],
    requires: Sequence[str] = (),
    along: bytes = b"",
) -> Wheel:
    """A wheel whose version ends with "h" and the first digits of a hash of all that is in it.

    prefix: how the version begins; along: what the hash is of besides.
    """
    hashed = {**files, "": along, "METADATA": _metadata(package, "", requires)}
    records = "\n".join(_record(name, content) for name, content in hashed.items())
    version = f"{prefix}h{hashlib.sha256(records.encode()).hexdigest()[:8]}"
    info = f"{package}-{version}.dist-info"
    whole = dict(files)
    whole[f"{info}/METADATA"] = _metadata(package, version, requires)
    whole[f"{info}/WHEEL"] = WHEEL_TAG.encode()
    records = [_record(name, content) for name, content in whole.items()]
    whole[f"{info}/RECORD"] = "\n".join([*records, f"{info}/RECORD,,", ""]).encode()
    return Wheel(package, version, zip_bytes(whole))


def _path_of(file: Path) -> str:
    return file.relative_to(REPOSITORY).as_posix()


def _metadata(package: str, version: str, requires: Iterable[str]) -> bytes:
    project = read_project()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {package.replace('_', '-')}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {name}" for name in requires),
    ]
    return "\n".join([*lines, ""]).encode()


def _record(name: str, content: bytes) -> str:
    digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"
