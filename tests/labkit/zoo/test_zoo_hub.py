"""The hub's refusals in words: a server on this machine that speaks the hub's protocol, or none.

Everything runs in a process of its own, with a token in its environment that must not come back.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from small_models import write_model

from labkit.zoo.hub import reason

TOKEN = "hf_" + "secretSECRET" * 3
COMMIT = "c0ffee" * 6 + "c0ff"
REFUSALS = {  # organisation: status and error code of the answer
    "unknown": (404, "RepoNotFound"),
    "meta-llama": (403, "GatedRepo"),
    "google": (401, "GatedRepo"),
    "private": (401, None),
    "forbidden": (403, None),
    "busy": (429, None),
    "broken": (500, None),
    "teapot": (418, None),
}
SCRIPT = """
import json, sys
from labkit import zoo
from labkit.zoo import choose

found = {"auto": {}}
for profile in zoo.PROFILES.values():
    for name in {*profile.roles.values(), *(m for p in profile.pairs for m in zoo.PAIRS[p])}:
        if not name.startswith("tiny"):
            found["auto"][name] = choose.origin(name, "auto").weights
for name in sys.argv[2:]:
    try:
        if sys.argv[1] == "load":
            found[name] = repr(zoo.load(name, weights="hub", device="cpu"))
        else:  # what load does first; it spares the process from importing torch
            found[name] = repr(choose.origin(name, "hub"))
    except (ValueError, zoo.ModelError) as error:
        found[name] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


class Hub(BaseHTTPRequestHandler):
    """Serves one folder as the model kit/small; refuses other organisations as `REFUSALS` say."""

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        path = self.path.partition("?")[0].removeprefix("/api/models")
        organisation, model, *rest = [*path.strip("/").split("/"), "", ""]
        if organisation in REFUSALS:
            status, code = REFUSALS[organisation]
            return self._send(status, b"{}", {"X-Error-Code": code} if code else {})
        if (model, rest[0]) == ("late", "resolve"):  # listed for all, handed out to nobody
            return self._send(403, b"", {"X-Error-Code": "GatedRepo"})
        if rest[0] == "revision":
            return self._send(200, json.dumps({"id": "kit/small", "sha": COMMIT}).encode())
        if rest[0] == "tree":
            return self._send(200, json.dumps(self._listing()).encode())
        if rest[0] != "resolve":
            return self._send(404, b"")
        name = path.rpartition("/")[2]
        headers = {"ETag": f'"{name}"', "X-Repo-Commit": COMMIT}
        return self._send(200, (self.server.folder / name).read_bytes(), headers)

    do_HEAD = do_GET

    def _listing(self):
        files = [
            {"type": "file", "path": path.name, "size": path.stat().st_size, "oid": path.name}
            for path in sorted(self.server.folder.iterdir())
        ]
        return [*files, {"type": "file", "path": "onnx/model.safetensors", "size": 9, "oid": "x"}]

    def _send(self, status, content, headers=None):
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A server, and what a process saw that asked it for one model after another."""
    folder = tmp_path_factory.mktemp("served")
    write_model(folder, "tiny-draft")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.folder, server.seen = folder, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def ask(tmp_path, how, *names, **environment):
    """What fetching these hub models came to, each in words; all that was printed is checked too.

    how: "load" them whole, or "find" them only.
    """
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, how, *names],
        env=os.environ
        | {"HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "SECRET" not in done.stdout + done.stderr
    assert "Bearer" not in done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answers(hub, tmp_path_factory):
    names = [
        "unknown/model",
        "meta-llama/Llama-3.2-1B",
        "google/gemma-3-1b-it",
        "private/model",
        "forbidden/model",
        "busy/model",
        "broken/model",
        "teapot/model",
        "kit/late",
        "kit/small",
        "a/b/c",
    ]
    endpoint = f"http://127.0.0.1:{hub.server_port}"
    return ask(tmp_path_factory.mktemp("home"), "load", *names, HF_ENDPOINT=endpoint)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("unknown/model", "the hub has no model of this name"),
        ("meta-llama/Llama-3.2-1B", "gated and the token's account has no access to it"),
        ("google/gemma-3-1b-it", "gated and no valid token was sent"),
        ("private/model", "needs a valid token, or has no model of this name"),
        ("forbidden/model", "does not let this token read the model"),
        ("busy/model", "too many requests come from here"),
        ("broken/model", "a fault of its own (status 500)"),
        ("teapot/model", "the hub refused (status 418)"),
        ("kit/late", "gated and the token's account has no access to it"),
    ],
)
def test_a_refusal_is_one_error_in_words_with_what_to_do_instead(name, words, answers):
    assert answers[name].startswith(f"UnavailableModel: cannot fetch {name}: ")
    assert words in answers[name]
    assert "Instead: " in answers[name]


def test_a_gated_model_s_error_names_its_open_substitute(answers):
    assert 'load("Qwen/Qwen3-1.7B", weights="hub")' in answers["meta-llama/Llama-3.2-1B"]
    assert "accept its licence" in answers["meta-llama/Llama-3.2-1B"]
    assert 'weights="random"' in answers["google/gemma-3-1b-it"]


def test_a_name_that_no_hub_model_can_have_is_the_caller_s_mistake(answers):
    assert answers["a/b/c"].startswith("ValueError: 'a/b/c' is no hub model")


def test_a_model_is_downloaded_only_when_the_call_says_so(answers, hub):
    assert answers["kit/small"] == "kit/small: 311,552 parameters, hub weights, float32 on cpu"
    paths = [path for path, _ in hub.seen]
    assert any("/kit/small/resolve/" in path for path in paths)
    assert not any("onnx/" in path for path in paths)
    assert set(answers["auto"].values()) == {"random"}
    assert not any("Qwen" in path or "gpt2" in path for path in paths)
    assert all(header in (None, f"Bearer {TOKEN}") for _, header in hub.seen)


def test_without_a_way_to_the_hub_the_error_says_so(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        closed = f"http://127.0.0.1:{server.server_port}"
    found = ask(tmp_path, "find", "Qwen/Qwen3-0.6B", "gpt2", HF_ENDPOINT=closed)
    assert "this machine cannot reach the hub (127.0.0.1)" in found["Qwen/Qwen3-0.6B"]
    assert 'load("gpt2", weights="random"), for timing and memory' in found["gpt2"]
    assert set(found["auto"].values()) == {"random"}


def test_offline_by_choice_is_told_from_offline_by_accident(tmp_path):
    found = ask(tmp_path, "find", "Qwen/Qwen3-0.6B", HF_HUB_OFFLINE="1")
    assert "HF_HUB_OFFLINE is set" in found["Qwen/Qwen3-0.6B"]


def test_a_token_with_a_stray_character_does_not_come_back(tmp_path, hub):
    endpoint = f"http://127.0.0.1:{hub.server_port}"
    found = ask(tmp_path, "find", "kit/other", HF_ENDPOINT=endpoint, HF_TOKEN=f"{TOKEN}\u2026")
    assert "cannot fetch kit/other" in found["kit/other"]
    assert "HF_TOKEN" in found["kit/other"]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(28, "No space left on device"), "the disk is full"),
        (TimeoutError("Bearer hf_secret"), "cannot reach the hub"),
        (RuntimeError("Authorization: Bearer hf_secret"), "huggingface_hub gave up (RuntimeError)"),
    ],
)
def test_other_failures_are_told_apart_and_their_text_is_not_shown(error, words):
    assert words in reason(error)
    assert "hf_" not in reason(error)
