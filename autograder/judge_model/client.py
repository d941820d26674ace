"""A judge model behind any OpenAI-compatible endpoint: `POST {base_url}/chat/completions`.

Servers fail in many ways; each becomes a `JudgeError` that says what happened and what to do. What
may pass on its own (a busy server, a broken connection, a reply cut short) is tried again first.
The key goes into the request header and nowhere else: no error, record or repr holds it, and where
a server echoes it, stars replace it.
"""

from __future__ import annotations

import email.utils
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autograder.judge_model.settings import (
    checked_body,
    checked_key,
    checked_timeout,
    checked_url,
    echo_of,
)

if TYPE_CHECKING:
    import httpx

MAX_WAIT_S = 60.0
MAX_REPLY_TIMEOUTS = 10  # a whole reply may take this many timeouts
_FIXES = {
    400: "the server does not take this request: is --judge-body right for this model?",
    401: "the key is missing or wrong: put it into the variable that --judge-key-env names",
    402: "the account has no credit left",
    403: "this key may not use this model or endpoint",
    404: "wrong model name or address: check --judge-model, and that --judge ends like .../v1",
    405: "this address takes no POST: --judge needs the address that ends like .../v1",
    413: "the request is too long for this server",
    422: "the server does not take this request: is --judge-body right for this model?",
}


class JudgeError(Exception):
    """The judge cannot go on; the message says why and what to do."""


class _PassingError(JudgeError):
    """A failure that a second try may avoid; wait_s: the wait that the server asks for, if any."""

    def __init__(self, message: str, wait_s: float | None = None):
        super().__init__(message)
        self.wait_s = wait_s


def text_of(content: Any) -> str:
    """The text of a message's content, which some servers send in parts."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of the judge, and the tokens that the server counted (0 if it does not count)."""

    text: str
    finish_reason: str
    input_tokens: int
    output_tokens: int


class JudgeClient:
    """A client for one model of one endpoint. Threads may share it; close it, or use `with`.

    base_url: ends like "http://localhost:8000/v1". timeout_s: for connecting, and for each silence
    of the server; a whole reply may take ten times as long. n_tries: per question. body: further
    fields of the request, for instance {"temperature": 0} where the model takes it; by default
    none, since not all models do. They are recorded, so none may hold a secret.
    Raises: ValueError for an address, key, timeout or body that cannot be one.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        n_tries: int = 4,
        body: Mapping[str, Any] | None = None,
        sleep: Callable[[float], Any] | None = None,
    ):
        import httpx

        self.base_url, self.model = checked_url(base_url), model
        self.body = checked_body(body or {})
        self.n_tries, self.timeout_s = n_tries, checked_timeout(timeout_s)
        self.input_tokens = self.output_tokens = self.n_calls = 0
        self._key = checked_key(api_key)
        self._echo = echo_of(self._key)
        self._stopped = threading.Event()
        self._sleep = sleep or self._stopped.wait
        self._lock = threading.Lock()
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.Client(timeout=timeout_s, headers=headers)

    def __repr__(self) -> str:
        return f"JudgeClient({self.base_url!r}, {self.model!r})"

    def __enter__(self) -> JudgeClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stop(self) -> None:
        """Let every thread give up before its next try; a judge that was stopped stays so."""
        self._stopped.set()

    def close(self) -> None:
        """Stop, and give the connections back; call it when no thread asks any more."""
        self.stop()
        self._client.close()

    def ask(self, messages: Sequence[Mapping[str, str]]) -> Reply:
        """One reply of the judge, after at most `n_tries` tries.

        Raises: JudgeError.
        """
        for attempt in range(self.n_tries):
            if self._stopped.is_set():
                raise JudgeError("this judge was stopped")
            try:
                reply = self._ask_once(messages)
            except _PassingError as error:
                if attempt == self.n_tries - 1:
                    raise JudgeError(f"{error} (after {attempt + 1} tries)") from None
                self._sleep(2.0**attempt if error.wait_s is None else error.wait_s)
            else:
                with self._lock:
                    self.n_calls += 1
                    self.input_tokens += reply.input_tokens
                    self.output_tokens += reply.output_tokens
                return reply
        raise ValueError(f"n_tries must be 1 or more, not {self.n_tries}")

    def _ask_once(self, messages: Sequence[Mapping[str, str]]) -> Reply:
        import httpx

        body = {"model": self.model, "messages": list(messages), **self.body}
        where = f"the judge at {self.base_url}"
        try:
            response = self._post(body, where)
        except httpx.ConnectError as error:
            raise JudgeError(
                f"no connection to {where}: {self._hide(str(error))}. Is the server running, and "
                "is the address right?"
            ) from None
        except httpx.TimeoutException:
            raise _PassingError(
                f"{where} did not answer within {self.timeout_s:g} s: a larger --judge-timeout or "
                "a faster model may help"
            ) from None
        except httpx.RequestError as error:
            raise _PassingError(
                f"the connection to {where} broke: {self._hide(str(error))}"
            ) from None
        self._check_status(response, where)
        return self._read(response, where)

    def _post(self, body: Mapping[str, Any], where: str) -> httpx.Response:
        """The whole response, read piece by piece: each may be in time and all of them too late."""
        import httpx

        limit_s = MAX_REPLY_TIMEOUTS * self.timeout_s
        deadline = time.monotonic() + limit_s
        pieces = []
        with self._client.stream("POST", f"{self.base_url}/chat/completions", json=body) as stream:
            for piece in stream.iter_raw():
                pieces.append(piece)
                if time.monotonic() > deadline:
                    raise JudgeError(
                        f"{where} sends its reply so slowly that it was not over after "
                        f"{limit_s:g} s: a larger --judge-timeout or a faster model may help"
                    )
        return httpx.Response(stream.status_code, headers=stream.headers, content=b"".join(pieces))

    def _check_status(self, response: httpx.Response, where: str) -> None:
        status = response.status_code
        if status == 200:
            return
        words = self._server_words(response)
        text = f"{where} answers {status}" + (f", {words!r}" if words else "")
        if response.is_redirect:
            target = self._hide(response.headers.get("location", "elsewhere"))
            raise JudgeError(f"{where} sends us on to {target}: give that address to --judge")
        if status == 429 and "insufficient_quota" in response.text[:2000]:
            raise JudgeError(f"{text}: {_FIXES[402]}")
        if status in (408, 425, 429) or status >= 500:
            wait_s = _retry_after_s(response.headers.get("retry-after"))
            if wait_s is not None and wait_s > MAX_WAIT_S:
                raise JudgeError(
                    f"{text} and asks us to wait {wait_s:.0f} s: give the command again after that"
                )
            raise _PassingError(f"{text}: the server is busy or broken, try later", wait_s)
        raise JudgeError(f"{text}: {_FIXES.get(status, 'wanted 200')}")

    def _read(self, response: httpx.Response, where: str) -> Reply:
        fix = "does it speak the OpenAI protocol, and does --judge end like .../v1?"
        try:
            data = json.loads(response.text)
        except (ValueError, RecursionError):
            if response.text.lstrip()[:1] == "<":
                raise JudgeError(f"{where} answers with a web page, not with JSON: {fix}") from None
            raise _PassingError(f"{where} answers with what is not JSON: {fix}") from None
        if not isinstance(data, dict):
            raise JudgeError(f"{where} answers with JSON that is no object: {fix}")
        if not data.get("choices") and data.get("error"):
            words = self._server_words(response)
            raise JudgeError(f"{where} reports an error: {words!r}")
        choices = data.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise _PassingError(f"{where} answers without choices: {fix}")
        message = choices[0].get("message")
        if not isinstance(message, dict):
            raise _PassingError(f"{where} answers without a message: {fix}")
        usage = data.get("usage") if isinstance(data.get("usage"), dict) else {}
        return Reply(
            text=self._hide(text_of(message.get("content"))),
            finish_reason=str(choices[0].get("finish_reason")),
            input_tokens=_count(usage.get("prompt_tokens")),
            output_tokens=_count(usage.get("completion_tokens")),
        )

    def _server_words(self, response: httpx.Response) -> str:
        """The server's text about an error, shortened and without the key."""
        words: Any = response.text
        try:
            error = json.loads(response.text)["error"]
            words = error["message"] if isinstance(error, dict) else error
        except (ValueError, KeyError, TypeError, RecursionError):
            if response.text.lstrip()[:1] == "<":
                words = ""
        return self._hide(" ".join(str(words).split()))[:200]

    def _hide(self, text: str) -> str:
        return self._echo.sub("***", text)


def _retry_after_s(value: str | None) -> float | None:
    """Seconds to wait by a Retry-After header, a number or a date; None if it has neither."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if seconds < float("inf") else None


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
