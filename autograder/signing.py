"""The key of a course: it signs the list of a lab's newest edition, which first cells read.

A student's notebook trusts what it pins, and newer editions that this key has signed. So whoever
can write to the site, or into a student's folder, brings no code to students. The signature is RSA
with SHA-256 (PKCS #1 v1.5), because the first cell checks it with one `pow`.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from autograder import places
from autograder.errors import Refusal

KEY_LINE = re.compile(r'^key = ".*"$', re.MULTILINE)


def key_file() -> Path:
    """Where the secret half of the key lies; git does not take it."""
    return places.COURSE.with_name("course.key")


def public_key() -> str:
    """The half of the key that notebooks have, in hexadecimal digits; "" if there is no key."""
    return tomllib.loads(places.COURSE.read_text(encoding="utf-8")).get("key", "")


def make_key() -> Path:
    """Write a new key; returns the file with its secret half. The other half goes to course.toml.

    Raises: Refusal if there is a key.
    """
    text, path = places.COURSE.read_text(encoding="utf-8"), key_file()
    if public_key() or path.exists():
        raise Refusal(
            f"the course has a key already: {path} or `key` in {places.COURSE.name}. Notebooks "
            "that were handed out trust it alone. To replace it, delete both"
        )
    made = generate_private_key(public_exponent=65537, key_size=2048)
    path.touch(0o600, exist_ok=False)
    path.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    line = f'key = "{_digits_of(made)}"'
    found = KEY_LINE.search(text)
    text = KEY_LINE.sub(line, text, count=1) if found else f"{line}\n{text}"
    places.COURSE.write_text(text, encoding="utf-8")
    return path


def signature_of(content: Any) -> str:
    """The signature of what JSON can say, in hexadecimal digits; "" if the course has no key.

    Raises: Refusal if the secret half is missing, or of another key.
    """
    wanted, path = public_key(), key_file()
    if not wanted:
        return ""
    try:
        found = load_pem_private_key(path.read_bytes(), password=None)
        key = _digits_of(found)
    except FileNotFoundError:
        raise Refusal(
            f"{path} is missing: copy it from where `autograder key` wrote it, for it signs what "
            "students' notebooks install"
        ) from None
    except (OSError, ValueError, TypeError, AttributeError):
        raise Refusal(f"{path} cannot be read as a key: copy it anew") from None
    if key != wanted:
        raise Refusal(f"{path} is not the key of {places.COURSE.name}: copy the right one there")
    return found.sign(json.dumps(content).encode(), PKCS1v15(), SHA256()).hex()


def _digits_of(key: RSAPrivateKey) -> str:
    """The public half of a key, in hexadecimal digits."""
    return f"{key.public_key().public_numbers().n:x}"
