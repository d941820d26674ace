"""Scratch folders that no killed grader leaves behind for good."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "autograder-"
LOCK = ".in-use"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder that every user may read, removed afterwards: by the next grading at the latest."""
    clear_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    folder.chmod(0o755)
    unlocked = folder / f"{LOCK}.new"
    with unlocked.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        unlocked.rename(folder / LOCK)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def clear_leftovers() -> None:
    """Remove the scratch folders of this user whose grader has ended."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        if _is_mine(lock.parent) and _is_free(lock):
            shutil.rmtree(lock.parent, ignore_errors=True)


def _is_mine(folder: Path) -> bool:
    return not folder.is_symlink() and folder.lstat().st_uid == os.getuid()


def _is_free(lock: Path) -> bool:
    try:
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
