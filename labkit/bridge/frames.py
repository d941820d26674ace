"""Frames: how a message and its bytes go over a socket between a judge and a student's process.

A frame is two lengths, a JSON object and the bytes that it refers to (see `labkit.bridge.wire`). It
may come from hostile code, so its size and the number of its containers have limits.
"""

import json
import struct
from collections.abc import Iterable
from typing import Any

from labkit.bridge.wire import WireError

MAX_HEADER_BYTES = 16 << 20
MAX_BLOB_BYTES = 256 << 20
MAX_JOINED_BYTES = 64 << 10
MAX_CONTAINERS = 1 << 18  # an empty list is 2 bytes here, and a hundred once it is decoded

_LENGTHS = struct.Struct("<IQ")


def send(sock: Any, message: dict, blobs: Iterable[bytes | memoryview] = ()) -> None:
    """Write one frame: lengths, the JSON header, then the blobs.

    Raises: WireError if the message is over the size limits; nothing has been sent then.
    """
    blobs = list(blobs)
    header = _ENCODER.encode(message).encode("utf-8", "surrogatepass")
    _refuse_many_containers(header)
    n_blob_bytes = sum(len(blob) for blob in blobs)
    if len(header) > MAX_HEADER_BYTES or n_blob_bytes > MAX_BLOB_BYTES:
        raise WireError(
            f"a message of {len(header):,} + {n_blob_bytes:,} bytes is over the limit of "
            f"{MAX_HEADER_BYTES:,} + {MAX_BLOB_BYTES:,}"
        )
    frame = _LENGTHS.pack(len(header), n_blob_bytes) + header
    if n_blob_bytes <= MAX_JOINED_BYTES:  # one write wakes the reader once
        sock.sendall(b"".join((frame, *blobs)))
        return
    sock.sendall(frame)
    for blob in blobs:
        sock.sendall(blob)


def receive(sock: Any) -> tuple[dict, memoryview]:
    """Read one frame. Raises EOFError at the end, WireError for a malformed or oversized frame."""
    n_header_bytes, n_blob_bytes = _LENGTHS.unpack(_read(sock, _LENGTHS.size))
    if n_header_bytes > MAX_HEADER_BYTES or n_blob_bytes > MAX_BLOB_BYTES:
        raise WireError(f"a frame announces {n_header_bytes:,} + {n_blob_bytes:,} bytes")
    buffer = _read(sock, n_header_bytes + n_blob_bytes)
    body = memoryview(buffer)
    _refuse_many_containers(buffer, n_header_bytes)
    try:
        message = _DECODER.decode(str(body[:n_header_bytes], "utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"a frame is not JSON: {type(error).__name__}") from error
    if not isinstance(message, dict):
        raise WireError("a frame is not an object")
    return message, body[n_header_bytes:]


def _read(sock: Any, n_bytes: int) -> bytearray:
    buffer = bytearray(n_bytes)
    view = memoryview(buffer)
    while view:
        n_read = sock.recv_into(view)
        if not n_read:
            raise EOFError("the other side closed the channel")
        view = view[n_read:]
    return buffer


def _refuse_many_containers(header: bytes | bytearray, end: int | None = None) -> None:
    n_containers = header.count(b"[", 0, end) + header.count(b"{", 0, end)
    if n_containers > MAX_CONTAINERS:
        raise WireError(f"{n_containers:,} lists and dicts, the limit is {MAX_CONTAINERS:,}")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_DECODER = json.JSONDecoder(parse_constant=_refuse)
