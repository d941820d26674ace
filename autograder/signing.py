"""The key of a course: it signs the list of a lab's newest edition, which first cells read.

A student's notebook trusts what it pins, and newer editions that this key has signed. So whoever
can write to the site, or into a student's folder, brings no code to students. The signature is RSA
with SHA-256, because the first cell checks it in one line of Python.
"""

import hashlib
import json
import re
import secrets
import tomllib
from pathlib import Path
from typing import Any

from autograder import places
from autograder.errors import Refusal

EXPONENT = 65537
N_BITS = 2048
N_ROUNDS = 40  # of a test that a number without factors passes always, and others once in 4
SMALL_PRIMES = [n for n in range(3, 1000, 2) if all(n % m for m in range(3, n, 2))]
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
    p, q = (_prime(N_BITS // 2) for _ in range(2))
    modulus, secret = p * q, pow(EXPONENT, -1, (p - 1) * (q - 1))
    path.touch(0o600, exist_ok=False)
    path.write_text(json.dumps({"key": f"{modulus:x}", "secret": f"{secret:x}"}))
    line = f'key = "{modulus:x}"'
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
        found = json.loads(path.read_text(encoding="utf-8"))
        key, secret = found["key"], int(found["secret"], 16)
    except FileNotFoundError:
        raise Refusal(
            f"{path} is missing: copy it from where `autograder key` wrote it, for it signs what "
            "students' notebooks install"
        ) from None
    except (OSError, ValueError, LookupError, TypeError):
        raise Refusal(f"{path} cannot be read as a key: copy it anew") from None
    if key != wanted:
        raise Refusal(f"{path} is not the key of {places.COURSE.name}: copy the right one there")
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    padded = int(f"1{'ff' * 221}00{digest}", 16)
    return f"{pow(padded, secret, int(key, 16)):x}"


def _prime(n_bits: int) -> int:
    """A random prime number of exactly so many bits, of which the first two are 1."""
    while True:
        number = secrets.randbits(n_bits) | (3 << (n_bits - 2)) | 1
        if number % EXPONENT != 1 and _is_prime(number):
            return number


def _is_prime(number: int) -> bool:
    """Whether a large odd number is prime, by the test of Miller and Rabin."""
    if any(number % prime == 0 for prime in SMALL_PRIMES):
        return False
    n_halvings = ((number - 1) & -(number - 1)).bit_length() - 1
    odd = (number - 1) >> n_halvings
    for _ in range(N_ROUNDS):
        base = 2 + secrets.randbelow(number - 3)
        powers = [pow(base, odd << i, number) for i in range(n_halvings)]
        if powers[0] != 1 and number - 1 not in powers:
            return False
    return True
