"""Files that are written whole: a reader sees the old content or the new. Zips of files."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

EPOCH = (2020, 1, 1, 0, 0, 0)  # one time for all: the bytes depend on the content alone
INCOMPRESSIBLE = (".safetensors", ".whl")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An error of the system that names no file, as of a full disk, gets the name of this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def write_whole(path: Path, content: bytes, *, sync: bool = False, shared: bool = False) -> None:
    """Replace a file in one step: a reader, or a killed grader, leaves the old or the new one.

    sync: wait until the disk has it, so that a power cut does, too; shared: other processes may
    write the same file at the same time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8) if shared else 'tmp'}")
    try:
        with naming(path), temporary.open("wb") as file:
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with suppress(OSError):  # on a full disk, every bit of room counts
            temporary.unlink()
        raise


def zip_bytes(files: Mapping[str, bytes], mode: int = 0o600) -> bytes:
    """A zip of these files whose bytes depend on nothing else; scripts may be executed."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            info = ZipInfo(name, EPOCH)
            info.external_attr = (0o755 if content.startswith(b"#!") else mode) << 16
            packing = ZIP_STORED if name.endswith(INCOMPRESSIBLE) else ZIP_DEFLATED
            archive.writestr(info, content, packing)
    return buffer.getvalue()
