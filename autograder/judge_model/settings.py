"""The settings of a judge, checked: address, key, timeout, further fields.

Each check raises ValueError with a sentence that a student can act on.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

_SECRET_NAME = re.compile(r"key|secret|password|auth|token(?!s)", re.IGNORECASE)


def checked_url(base_url: str) -> str:
    """The address without what belongs to a request; it holds no name, password or query."""
    import httpx

    if "@" in base_url or "?" in base_url:
        raise ValueError("the judge's address must hold no name, password or query: give a key")
    try:
        parts, _ = urlsplit(base_url), httpx.URL(base_url)
        is_address = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except (ValueError, httpx.InvalidURL):  # also by the port, if that is no number
        is_address = False
    if not is_address:
        raise ValueError(
            f"the judge's address needs http:// or https:// and a host, such as "
            f"http://localhost:8000/v1, got {base_url!r}"
        )
    return base_url.rstrip("/").removesuffix("/chat/completions")


def checked_key(api_key: str | None) -> str:
    """The key, stripped; empty if there is none."""
    key = (api_key or "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(
            "the judge's key holds a space or a character that no key holds: copy it again"
        )
    return key


def checked_timeout(timeout_s: float) -> float:
    """The timeout, if seconds can be waited for that long."""
    if not 0 < timeout_s <= 86_400:
        raise ValueError(
            f"--judge-timeout needs seconds: more than 0, at most a day, not {timeout_s:g}"
        )
    return timeout_s


def checked_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """The further fields of a request, if none of them looks like a secret."""
    for name in _text_fields(body):
        if _SECRET_NAME.search(name):
            raise ValueError(
                f"the field {name!r} of --judge-body would be recorded and may be secret: put the "
                "key into an environment variable, and name that with --judge-key-env"
            )
    return dict(body)


def _text_fields(value: Any, name: str = "") -> Iterator[str]:
    """The names under which texts stand, at any depth."""
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _text_fields(each, str(inner))
    elif isinstance(value, list):
        for each in value:
            yield from _text_fields(each, name)
    elif isinstance(value, str):
        yield name


def echo_of(key: str) -> re.Pattern[str]:
    """A pattern that finds a key in a server's text, also if JSON escapes its characters."""
    if not key:
        return re.compile(r"(?!)")
    return re.compile("".join(rf"(?:\\?{re.escape(c)}|(?i:\\u{ord(c):04x}))" for c in key))
