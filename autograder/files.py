"""Writing files whole: a reader sees the old content or the new, never a half."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes, *, sync: bool = False, shared: bool = False) -> None:
    """Replace a file in one step: a reader, or a killed grader, leaves the old or the new one.

    sync: wait until the disk has it, so that a power cut does, too; shared: other processes may
    write the same file at the same time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8) if shared else 'tmp'}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):  # on a full disk, every bit of room counts
            temporary.unlink()
        raise
