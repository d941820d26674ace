"""The judge's client against a real local server that speaks the protocol, well or badly."""

import email.utils
import json
import socket
import threading
import time

import pytest
from judge_server import completion, drips, fails, gives, hangs, judge_server, says, sends

from autograder.judge_model.client import JudgeClient, JudgeError

QUESTION = [{"role": "user", "content": "Is it long? YES or NO"}]
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server():
    with judge_server() as running:
        yield running


@pytest.fixture
def waits():
    return []


@pytest.fixture
def judge(server, waits):
    settings = {"api_key": KEY, "timeout_s": 10.0, "sleep": waits.append}
    with JudgeClient(server.url, "tiny-judge", **settings) as client:
        yield client


def failure(judge):
    """The judge's error, which must not hold the key."""
    with pytest.raises(JudgeError) as caught:
        judge.ask(QUESTION)
    assert KEY not in str(caught.value) and KEY not in repr(caught.getrepr())
    return str(caught.value)


def test_a_request_follows_the_protocol(server, judge):
    reply = judge.ask(QUESTION)
    assert reply.text == "YES" and reply.finish_reason == "stop"
    assert (judge.n_calls, judge.input_tokens, judge.output_tokens) == (1, 100, 10)
    (request,) = server.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["Authorization"] == f"Bearer {KEY}"
    assert request["body"] == {"model": "tiny-judge", "messages": QUESTION}
    assert KEY not in repr(judge)


def test_no_key_and_further_fields(server):
    with JudgeClient(f"{server.url}/", "m", body={"temperature": 0}) as judge:
        judge.ask(QUESTION)
    with JudgeClient(f"{server.url}/chat/completions", "m") as judge:
        judge.ask(QUESTION)
    assert "Authorization" not in server.requests[0]["headers"]
    assert server.requests[0]["body"]["temperature"] == 0
    assert server.requests[1]["path"] == "/v1/chat/completions"


def test_threads_may_share_a_judge(server, judge):
    threads = [threading.Thread(target=judge.ask, args=(QUESTION,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert judge.n_calls == 8 and judge.input_tokens == 800


FATAL = {
    "401": (fails(401, f"Incorrect API key provided: {KEY}"), "--judge-key-env"),
    "402": (fails(402), "no credit"),
    "403": (fails(403), "may not use this model"),
    "404 model": (fails(404, "The model `x` does not exist"), "The model `x` does not exist"),
    "404": (fails(404), "check --judge-model"),
    "400": (fails(400, "Unsupported value: 'temperature'"), "--judge-body"),
    "418": (fails(418), "answers 418"),
    "moved": (sends(b"", 307, Location="https://elsewhere/v1"), "https://elsewhere/v1"),
    "no quota": (
        gives({"error": {"message": "Too much", "code": "insufficient_quota"}}, 429),
        "no credit",
    ),
    "a web page": (sends(b"<!DOCTYPE html><html>hello</html>"), "a web page"),
    "an error with 200": (gives({"error": {"message": "no such model"}}), "'no such model'"),
    "a list": (gives([1, 2]), "no object"),
    "a long wait": (fails(429, "busy", Retry_After="3600"), "wait 3600 s"),
}


@pytest.mark.parametrize(("behaviour", "words"), FATAL.values(), ids=FATAL)
def test_what_will_not_pass_is_told_at_once(server, judge, waits, behaviour, words):
    server.then = behaviour
    text = failure(judge)
    assert words in text and "127.0.0.1" in text
    assert len(server.requests) == 1 and waits == [] and judge.n_calls == 0


PASSING = {
    "429": (fails(429, "slow down"), "slow down"),
    "500": (fails(500, "oops"), "'oops'"),
    "502 page": (sends(b"<html>bad gateway</html>", 502), "answers 502: the server is busy"),
    "503": (sends(b"", 503), "answers 503"),
    "cut short": (sends(json.dumps(completion("YES")).encode(), cut=50), "broke"),
    "half of the JSON": (sends(b'{"choices": [{"mess', kind="application/json"), "not JSON"),
    "nested JSON": (sends(b"[" * 100_000, kind="application/json"), "not JSON"),
    "nothing": (sends(b""), "not JSON"),
    "no choices": (gives({"choices": []}), "without choices"),
    "choices null": (gives({"id": "x", "choices": None}), "without choices"),
    "odd choices": (gives({"choices": ["YES"]}), "without choices"),
    "no message": (gives({"choices": [{"text": "YES"}]}), "without a message"),
    "bad compression": (sends(b"no gzip", Content_Encoding="gzip"), "broke"),
}


@pytest.mark.parametrize(("behaviour", "words"), PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again(server, judge, waits, behaviour, words):
    server.plan = [behaviour, behaviour]
    assert judge.ask(QUESTION).text == "YES"
    assert waits == [1.0, 2.0] and judge.n_calls == 1
    server.then = behaviour
    text = failure(judge)
    assert words in text and "(after 4 tries)" in text
    assert len(server.requests) == 3 + 4


def test_retry_after_is_kept_to(server, judge, waits):
    date = email.utils.formatdate(time.time() - 60, usegmt=True)
    server.plan = [fails(429, Retry_After=value) for value in ("7", date, "soon")]
    assert judge.ask(QUESTION).text == "YES"
    assert waits == [7.0, 0.0, 4.0]  # what cannot be read leaves the usual wait
    server.plan = [fails(503, Retry_After="nan"), fails(503, Retry_After="inf")]
    assert judge.ask(QUESTION).text == "YES"
    assert waits[3:] == [1.0, 2.0]


def test_silence_ends_in_a_timeout(server):
    server.then = hangs
    with JudgeClient(server.url, "m", timeout_s=0.1, n_tries=2, sleep=lambda _: None) as judge:
        text = failure(judge)
    assert "did not answer within 0.1 s" in text and "--judge-timeout" in text
    assert len(server.requests) == 2


def test_a_reply_that_never_ends_is_given_up_on(server):
    server.then = drips(0.02)
    with JudgeClient(server.url, "m", timeout_s=0.1, sleep=pytest.fail) as judge:
        text = failure(judge)
    assert "was not over after 1 s" in text and "--judge-timeout" in text
    assert len(server.requests) == 1


@pytest.mark.parametrize("timeout_s", [0, -1, 1e9, float("nan"), float("inf")])
def test_a_timeout_that_is_none(timeout_s):
    with pytest.raises(ValueError, match="--judge-timeout needs seconds"):
        JudgeClient("http://host/v1", "m", timeout_s=timeout_s)


def test_a_refused_connection_is_told_at_once():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with JudgeClient(url, "m", sleep=pytest.fail) as judge:
            text = failure(judge)
    assert "no connection" in text and url in text and "Is the server running" in text


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, ""), ("", ""), ([{"type": "text", "text": "NO"}], "NO"), ([1, {}], ""), (7, "")],
)
def test_odd_contents_are_texts_of_their_own(server, judge, content, text):
    server.then = says(content, finish_reason="length")
    reply = judge.ask(QUESTION)
    assert reply.text == text and reply.finish_reason == "length"


@pytest.mark.parametrize("key", [KEY, 'sk-"quoted"\\/-0123', "sk-a+b.c?d*e"])
def test_a_key_that_the_server_echoes_is_hidden(server, key):
    escaped = json.dumps(key)[1:-1]
    by_number = "".join(f"\\u{ord(letter):04X}" for letter in key)
    server.plan = [says(f"Hmm Bearer {form}!") for form in (key, escaped, by_number)]
    server.then = sends(f"{' ' * 1990}{escaped} {by_number}".encode(), 401, "text/plain")
    with JudgeClient(server.url, "m", api_key=key) as judge:
        assert [judge.ask(QUESTION).text for _ in range(3)] == ["Hmm Bearer ***!"] * 3
        with pytest.raises(JudgeError, match=r"answers 401, '\*\*\* \*\*\*'"):
            judge.ask(QUESTION)


@pytest.mark.parametrize(
    "body",
    [{"api_key": KEY}, {"extra": [{"Authorization": KEY}]}, {"access_token": KEY}, {"keys": [KEY]}],
)
def test_a_body_that_may_hold_a_secret_is_refused(body):
    with pytest.raises(ValueError, match="--judge-key-env") as caught:
        JudgeClient("http://host/v1", "m", body=body)
    assert KEY not in str(caught.value)
    JudgeClient(
        "http://host/v1", "m", body={"max_tokens": 9, "stop_token_ids": [1], "stop": "x"}
    ).close()


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "many"}, {"prompt_tokens": -5}])
def test_usage_that_tells_nothing_counts_as_nothing(server, judge, usage):
    server.then = gives({**completion("NO"), "usage": usage})
    assert judge.ask(QUESTION).text == "NO"
    assert (judge.n_calls, judge.input_tokens) == (1, 0)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "localhost:8000/v1",
            "ftp://host/v1",
            "http://",
            "/v1",
            "http:///v1",
            "http://[::1/v1",
        ),
        *(
            "http://localhost:notaport/v1",
            "http://host:99999/v1",
            "http://host:0/v1",
            "http://a\x00",
        ),
    ],
)
def test_an_address_that_is_none(url):
    with pytest.raises(ValueError, match="needs http:// or https:// and a host"):
        JudgeClient(url, "m")


def test_addresses_and_keys_that_would_leak_or_fail():
    with pytest.raises(ValueError, match="no name, password or query") as caught:
        JudgeClient(f"http://me:{KEY}@host/v1", "m")
    assert KEY not in str(caught.value)
    with pytest.raises(ValueError, match="no name, password or query"):
        JudgeClient(f"http://host/v1?key={KEY}", "m")
    for key in (f"{KEY} x", f"{KEY}\nx", f"{KEY}ü"):
        with pytest.raises(ValueError, match="copy it again") as caught:
            JudgeClient("http://host/v1", "m", api_key=key)
        assert KEY not in str(caught.value)


def test_stopping_wakes_a_judge_that_waits(server):
    server.then = fails(429, Retry_After="50")
    judge = JudgeClient(server.url, "m")
    problems = []

    def ask():
        try:
            judge.ask(QUESTION)
        except JudgeError as error:
            problems.append(str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    while not server.requests:
        time.sleep(0.01)
    judge.stop()
    thread.join(timeout=20)
    judge.close()
    assert not thread.is_alive() and problems == ["this judge was stopped"]
