"""The files of a folder that others may change while it is read.

Each folder is opened inside the one above, and no link is followed. So a folder that becomes a link
after it was seen is not entered, and a file is read only if it is the one that was listed.
"""

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autograder.intake.collect.submission import NoSubmissions

MAX_DEPTH = 40  # folders, one inside the other
MAX_FILES = 50_000  # in all of a folder beside others: each takes 0.1 ms at each look
NO_FILE = "the submission is a link or a device, not a file"
ALL = "its files"  # stands for those of a folder that cannot be listed
FOLDER = os.O_RDONLY | os.O_DIRECTORY
INSIDE = FOLDER | os.O_NOFOLLOW

Identity = tuple[int, int]
NOTHING: Identity = (0, 0)  # of a file that nobody can open


@dataclass(frozen=True)
class Listed:
    """A file as it was listed. problem: why it cannot be read, in a sentence."""

    base: Path
    path: PurePosixPath
    size: int
    identity: Identity
    problem: str = ""

    def open(self) -> BinaryIO:
        """Raises: OSError if a link stands on the way now, or if this is another file now."""
        descriptor = os.open(self.base, FOLDER)
        for name in self.path.parts[:-1]:
            descriptor = _go_into(descriptor, name, INSIDE)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.fdopen(_go_into(descriptor, self.path.name, flags), "rb")
        if _identity(os.fstat(file.fileno())) != self.identity:
            file.close()
            raise OSError("the file was replaced while the class was collected: collect again")
        return file


def files_below(
    base: Path, without: Path | None, is_left_behind: Callable[[str], bool]
) -> Iterator[Listed]:
    """All files of a folder. One stands for all of a folder in it that cannot be listed.

    without: a folder that is left out, as are names that `is_left_behind`.
    Raises: NoSubmissions if the folder itself cannot be listed.
    """
    left_out = _identity(without.stat()) if without and without.exists() else None

    def of_folder(descriptor: int, path: PurePosixPath) -> Iterator[Listed]:
        try:
            with os.scandir(descriptor) as entries:
                names = sorted(entry.name for entry in entries if not is_left_behind(entry.name))
        except OSError as error:
            yield unread(path, error)
            return
        for name in names:
            try:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:  # it is gone since
                continue
            except OSError as error:  # the folder can be listed and not entered, for instance
                yield unread(path / name, error)
                continue
            inside, identity = path / name, _identity(status)
            if stat.S_ISDIR(status.st_mode):
                yield from () if identity == left_out else of_entry(descriptor, inside)
            else:
                problem = "" if stat.S_ISREG(status.st_mode) else NO_FILE
                yield Listed(base, inside, status.st_size, identity, problem)

    def unread(folder: PurePosixPath, why: OSError | str) -> Listed:
        """Raises: NoSubmissions if this is the folder of all."""
        problem = why if isinstance(why, str) else f"the folder cannot be read: {why.strerror}"
        if not folder.parts:
            raise NoSubmissions(f"{base}: {problem}")
        return Listed(base, folder / ALL, 0, NOTHING, problem)

    def of_entry(above: int, path: PurePosixPath) -> Iterator[Listed]:
        if len(path.parts) > MAX_DEPTH:
            yield unread(path, f"they lie in more than {MAX_DEPTH} folders: hand in fewer")
            return
        try:
            descriptor = os.open(path.name, INSIDE, dir_fd=above)
        except FileNotFoundError:
            return
        except OSError as error:  # not ours to read, or a link by now
            yield unread(path, error)
            return
        inside = of_folder(descriptor, path)
        try:
            yield from islice(inside, MAX_FILES if len(path.parts) == 1 else None)
            if next(inside, None) is not None:
                yield unread(path, f"it holds more than {MAX_FILES:,} files: hand in fewer")
        finally:
            inside.close()
            os.close(descriptor)

    try:
        top = os.open(base, FOLDER)
    except OSError as error:
        raise NoSubmissions(f"{base} cannot be listed: {error.strerror}") from None
    try:
        yield from of_folder(top, PurePosixPath())
    finally:
        os.close(top)


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _go_into(folder: int, name: str, flags: int) -> int:
    """A descriptor of what lies in a folder; that of the folder is closed."""
    try:
        return os.open(name, flags, dir_fd=folder)
    finally:
        os.close(folder)
