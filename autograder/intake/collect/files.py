"""The files of an untrusted folder or zip: listed within limits, read one by one.

Links, devices and pipes are not followed. Paths out of a zip are left out, and so are the hidden
files of operating systems and editors.
"""

import io
import lzma
import stat
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from autograder.intake.collect.folder import NO_FILE, Listed, files_below
from autograder.intake.collect.submission import NoSubmissions, safe_name
from autograder.intake.collect.zip_names import names_in
from autograder.intake.read import MAX_BYTES

MAX_ENTRIES = 200_000
MAX_ZIP_BYTES = 4 << 30
MAX_NESTED_BYTES = 256 << 20
CHUNK_BYTES = 1 << 22
MAX_OWN_ENTRIES = 5_000
MAX_PART_CHARS = 255
MAX_SUFFIX_CHARS = 10
LEFT_BEHIND = {"__MACOSX", ".ipynb_checkpoints", ".git", ".DS_Store", "Thumbs.db", "desktop.ini"}
METHODS = {9: "Deflate64", 20: "Zstandard", 93: "Zstandard", 95: "XZ", 97: "WavPack", 98: "PPMd",
           99: "AES"}  # fmt: skip
READ_METHODS = {
    zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA,
    getattr(zipfile, "ZIP_ZSTANDARD", zipfile.ZIP_STORED),  # since Python 3.14
}  # fmt: skip
ENCRYPTED = 0x1
ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError,
    OSError, EOFError, RuntimeError, ValueError, OverflowError, IndexError,
)  # fmt: skip


@dataclass(frozen=True)
class Packed:
    """A member of a zip."""

    archive: zipfile.ZipFile
    entry: zipfile.ZipInfo

    def open(self) -> IO[bytes]:
        """Raises one of ZIP_ERRORS."""
        return self.archive.open(self.entry)


@dataclass(frozen=True)
class File:
    """A file of a delivery: its place, the name that a TA sees, and a way to read it.

    problem: why it cannot be read, in a sentence; serial: the number that the LMS gave it, which
    grows with time; is_late: whether the LMS calls it late, None if it does not say; is_named:
    whether its name is certain, not a substitute for one in an unknown encoding.
    """

    path: PurePosixPath
    shown: str
    size: int
    problem: str
    place: Listed | Packed
    serial: int = 0
    is_late: bool | None = None
    is_named: bool = True

    @property
    def suffix(self) -> str:
        """How the name ends, in lower case."""
        return self.path.suffix.lower()

    def read(self, limit: int = MAX_BYTES) -> bytes:
        """The content, cut one byte after `limit`. Raises one of ZIP_ERRORS."""
        with self.place.open() as file:
            return file.read(limit + 1)


def files_at(
    place: Path, opened: ExitStack, without: Path | None = None, people: Collection[str] = ()
) -> list[File]:
    """All files below a folder or in a zip, which stays open as long as `opened`.

    without: a folder that is left out; people: see `names_in`. Raises: NoSubmissions if there is
    neither, or if it is too large.
    """
    if not place.exists():
        raise NoSubmissions(f"{place} does not exist: give a folder or a zip of submissions")
    if place.is_dir():
        return sorted(_files_in_folder(place, without), key=lambda file: file.path)
    if not zipfile.is_zipfile(place):
        raise NoSubmissions(f"{place} is neither a folder nor a zip")
    try:
        return _unpacked(opened.enter_context(place.open("rb")), opened, MAX_ENTRIES, people)
    except ValueError as error:
        raise NoSubmissions(f"{place}: {error}") from None


def files_of_export(packed: File, opened: ExitStack, people: Collection[str]) -> list[File]:
    """The files of a zip that may be an export. Raises ValueError with the reason if it is none."""
    limit = MAX_ZIP_BYTES if isinstance(packed.place, Listed) else MAX_NESTED_BYTES
    return _unpacked(_stream(packed, opened, limit), opened, MAX_ENTRIES, people)


def files_of_student(packed: File, opened: ExitStack) -> list[File]:
    """The files of a zip that a student handed in. Raises ValueError with the reason if it is none.

    The bounds are those of one student's work, and hold before anything is unpacked.
    """
    return _unpacked(_stream(packed, opened, MAX_BYTES), opened, MAX_OWN_ENTRIES)


def _stream(packed: File, opened: ExitStack, limit: int) -> BinaryIO:
    """A zip to read from, in memory if it lies in another zip."""
    if packed.problem or packed.size > limit:
        raise ValueError(
            packed.problem
            or f"the zip is over {limit >> 20} MB: hand in the notebook alone, without its outputs"
        )
    try:
        if isinstance(packed.place, Listed):
            return opened.enter_context(packed.place.open())
        return io.BytesIO(packed.read(limit))
    except ZIP_ERRORS as error:
        raise ValueError(f"the zip cannot be read: {error}") from None


def _unpacked(
    stream: BinaryIO, opened: ExitStack, max_entries: int, people: Collection[str] = ()
) -> list[File]:
    """The files of a zip; its entries are counted before its table is built in memory."""
    n_entries = 0
    while n_entries <= max_entries and (chunk := stream.read(CHUNK_BYTES)):
        n_entries += chunk.count(zipfile.stringCentralDir)
    if n_entries > max_entries:
        raise ValueError(f"the zip holds more than {max_entries:,} files")
    try:
        archive = opened.enter_context(zipfile.ZipFile(stream))
        if sum(entry.file_size for entry in archive.infolist()) > MAX_ZIP_BYTES:
            raise ValueError(f"it unpacks to more than {MAX_ZIP_BYTES >> 30} GB")
        return list(_files_in_zip(archive, people))
    except ZIP_ERRORS as error:
        raise ValueError(f"the zip cannot be opened: {error}") from None


def _files_in_folder(folder: Path, without: Path | None) -> Iterator[File]:
    for listed in files_below(folder, without, _is_left_behind):
        shown = _as_notebook(listed.path)
        yield File(shown, shown.name, listed.size, listed.problem, listed)


def _files_in_zip(archive: zipfile.ZipFile, people: Collection[str]) -> Iterator[File]:
    entries = archive.infolist()
    names, are_sure = names_in(entries, people)
    for entry, name in zip(entries, names, strict=True):
        path = PurePosixPath("/".join(map(_short, name.split("/"))))
        unsafe = path.is_absolute() or ".." in path.parts or not path.name
        if entry.is_dir() or unsafe or any(map(_is_left_behind, path.parts)):
            continue
        problem = _problem_of(entry, archive)
        shown = _as_notebook(path)
        file = File(shown, shown.name, entry.file_size, problem, Packed(archive, entry))
        yield file if are_sure or name.isascii() else replace(file, is_named=False)


def _problem_of(entry: zipfile.ZipInfo, archive: zipfile.ZipFile) -> str:
    """Why a member of a zip cannot be read, and what a person can do; "" if it can be."""
    if stat.S_ISLNK(entry.external_attr >> 16):
        return NO_FILE
    packed = archive.filename if isinstance(archive.filename, str) else "the zip"
    if entry.flag_bits & ENCRYPTED:
        return (
            f"{packed} is locked, password required: unpack it by hand and give the folder, or ask "
            "for a zip without a password"
        )
    if entry.compress_type not in READ_METHODS:
        method = METHODS.get(entry.compress_type, f"method {entry.compress_type}")
        return (
            f"{packed} is packed with {method}, which cannot be read here: unpack it by hand, as "
            "with 7-Zip, and give the folder, or ask for a plain zip"
        )
    return ""


def _short(name: str) -> str:
    """No file system takes a longer name, and patterns take their time over one."""
    return name if len(name) <= MAX_PART_CHARS else f"{name[:200]}~{name[-50:]}"


def _as_notebook(path: PurePosixPath) -> PurePosixPath:
    """The path without the ending that browsers and phones add to a notebook's."""
    name = path.name
    for ending in (".txt", ".json"):
        if name.casefold().endswith(".ipynb" + ending):
            return path.with_name(name[: -len(ending)])
    return path


def _is_left_behind(name: str) -> bool:
    return name in LEFT_BEHIND or name.startswith("._")


def shown_name(name: str) -> str:
    """The name of a file for pages and tables: safe, and of the same kind as before."""
    suffix = PurePosixPath(name).suffix
    if len(suffix) > MAX_SUFFIX_CHARS or not suffix.isascii():
        suffix = ""
    return safe_name(name.removesuffix(suffix)) + (safe_name(suffix) if suffix else "")
