"""A small server that speaks the judge's protocol, well or badly, for the tests."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

Behaviour = Callable[["_Handler", dict], None]


def completion(text: Any, **choice: Any) -> dict:
    """A chat completion as OpenAI's servers give it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
                **choice,
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def says(text: Any, **choice: Any) -> Behaviour:
    return gives(completion(text, **choice))


def gives(data: Any, status: int = 200, **headers: str) -> Behaviour:
    """Answer with JSON."""
    return sends(json.dumps(data).encode(), status, "application/json", **headers)


def fails(status: int, message: str = "no", **headers: str) -> Behaviour:
    """Answer with an error as OpenAI's servers give it."""
    return gives({"error": {"message": message, "type": "error"}}, status, **headers)


def sends(
    content: bytes, status: int = 200, kind: str = "text/html", cut: int = 0, **headers: str
) -> Behaviour:
    """Answer with bytes; `cut` more are promised than come."""

    def behave(handler: _Handler, request: dict) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(content) + cut))
        handler.send_header("Connection", "close")
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)
        handler.close_connection = True

    return behave


def hangs(handler: _Handler, request: dict) -> None:
    """Say nothing until the server stops."""
    handler.server.stopping.wait(20)
    handler.close_connection = True


def drips(pause_s: float) -> Behaviour:
    """Answer with one blank after the other, until the server stops."""

    def behave(handler: _Handler, request: dict) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        while not handler.server.stopping.wait(pause_s):
            handler.wfile.write(b" ")

    return behave


def judges(decide: Callable[[str], str]) -> Behaviour:
    """Answer each question by a function of the user's message."""

    def behave(handler: _Handler, request: dict) -> None:
        says(decide(request["messages"][-1]["content"]))(handler, request)

    return behave


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.stopping = threading.Event()
        self.plan: list[Behaviour] = []
        self.then: Behaviour = says("YES")
        self.requests: list[dict] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            record = {"path": self.path, "headers": dict(self.headers), "body": request}
            self.server.requests.append(record)
            behaviour = self.server.plan.pop(0) if self.server.plan else self.server.then
        if self.path != "/v1/chat/completions":
            behaviour = fails(404, f"no route {self.path}")
        try:
            behaviour(self, request)
        except ConnectionError:
            self.close_connection = True  # the client gave up

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def judge_server() -> Iterator[_Server]:
    """A running server: `plan` is what the first requests get, `then` what all later ones get."""
    server = _Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        with patch.dict(os.environ, NO_PROXY="127.0.0.1"):
            yield server
    finally:
        server.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()
