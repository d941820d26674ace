"""The command: answers are kept, goes on where it stopped, judges last, and tells what it found."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import random_models
import small_models
from judge_server import completion, fails, gives, judge_server, judges, says

from autograder.judge_model.client import JudgeClient, JudgeError
from autograder.judge_model.cost import Price
from training import evaluate as command
from training.evaluate import TooExpensive, evaluate
from training.tasks import TASKS, Item, items
from training.tasks.generate import Candidate
from training.tasks.judging import judge_answers
from training.tasks.log import Log, LogError, Row
from training.tasks.summary import summarise, table

N = 10
REFERENCES = {
    item.prompt: item.reference for task in TASKS for item in items(task, "dev-test", n=N)
}


class Oracle:
    """Answers each prompt with its reference, and counts."""

    def __init__(self, stop_after=None):
        self.prompts = []
        self.stop_after = stop_after

    def __call__(self, prompts):
        if self.stop_after is not None and len(self.prompts) >= self.stop_after:
            raise KeyboardInterrupt
        self.prompts += prompts
        return [REFERENCES[prompt] for prompt in prompts]

    def candidate(self, batch_size=4):
        return Candidate("oracle", "1", lambda task, prompts: self(list(prompts)), batch_size)


@pytest.fixture
def server():
    with judge_server() as running:
        yield running


@pytest.fixture
def judge(server):
    with JudgeClient(server.url, "tiny-judge", sleep=lambda _: None) as client:
        yield client


def run(candidate, out, **settings):
    """Evaluate quietly; returns the summaries by task and what was printed."""
    said = []
    settings = {"n": N, "show_progress": False, "echo": said.append} | settings
    summaries = evaluate(candidate, out=out, **settings)
    return {each.task: each for each in summaries}, "\n".join(said)


def rows(out):
    return [json.loads(line) for line in (out / "answers.jsonl").read_text().splitlines()]


def test_references_earn_everything_and_open_answers_wait(tmp_path):
    found, text = run(Oracle().candidate(), tmp_path)
    assert [found[task].n for task in TASKS] == [N] * 3
    assert found["paths"].score == found["choice"].score == 1
    assert found["paths"].invalid_share == 0 and found["paths"].standard_error == 0
    assert found["open"].score is None and found["open"].n_waiting == N  # not judged is no zero
    assert "open: 10 answers wait for a judge" in text
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["model"] == "oracle" and summary["tasks"]["choice"]["score"] == 1
    assert [row["score"] for row in rows(tmp_path)] == [1] * 2 * N + [None] * N


def test_what_is_finished_is_not_answered_again(tmp_path):
    stopped = Oracle(stop_after=12)
    with pytest.raises(KeyboardInterrupt):
        run(stopped.candidate(), tmp_path)
    assert len(rows(tmp_path)) == 14  # batches of 4, 4, 2 and 4
    resumed = Oracle()
    found, _ = run(resumed.candidate(), tmp_path)
    assert len(resumed.prompts) == 3 * N - 14
    assert set(stopped.prompts).isdisjoint(resumed.prompts)
    again = Oracle(stop_after=0)
    assert run(again.candidate(), tmp_path)[0] == found


def test_another_model_or_prompt_is_answered_anew(tmp_path):
    run(Oracle().candidate(), tmp_path, tasks=["choice"])
    other = Oracle()
    run(
        Candidate("oracle", "2", lambda task, prompts: other(list(prompts))),
        tmp_path,
        tasks=["choice"],
    )
    assert len(other.prompts) == N

    def with_book(prompts):
        from training.corpus.world import handbook

        assert all(prompt.startswith(handbook()) for prompt in prompts)
        return [REFERENCES[prompt.removeprefix(f"{handbook()}\n\n")] for prompt in prompts]

    book = Candidate("oracle", "1", lambda task, prompts: with_book(prompts))
    found, _ = run(book, tmp_path, tasks=["choice"], open_book=True)
    assert found["choice"].score == 1 and len(rows(tmp_path)) == 3 * N
    seeded = {item.prompt: item.reference for item in items("choice", "hidden", 3, N)}
    hidden = Candidate("oracle", "1", lambda task, prompts: [seeded[prompt] for prompt in prompts])
    found, _ = run(hidden, tmp_path, tasks=["choice"], split="hidden", seed=3)
    assert found["choice"].score == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from training.evaluate import evaluate
from training.tasks.generate import Candidate
n_batches = 0
def answer(task, prompts):
    global n_batches
    n_batches += 1
    if n_batches == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return ["Answer: B"] * len(prompts)
evaluate(Candidate("m", "1", answer, 4), out=Path(sys.argv[1]), n=10, show_progress=False)
"""


def test_a_killed_evaluation_goes_on(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    with (tmp_path / "answers.jsonl").open("a") as file:
        file.write('{"id": "choice/dev-test/000", "task": "cho')  # and a line was torn
    asked = []

    def answer(task, prompts):
        asked.extend(prompts)
        return ["Answer: B"] * len(prompts)

    found, _ = run(Candidate("m", "1", answer, 4), tmp_path)
    assert len(asked) == 3 * N - 10  # the three batches of paths were kept
    assert found["paths"].invalid_share == 1 and found["paths"].score == 0
    assert len(rows(tmp_path)) == 3 * N


def test_a_line_that_is_no_row_is_named(tmp_path):
    run(Oracle().candidate(), tmp_path, tasks=["paths"])
    log = tmp_path / "answers.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    for wrong in ("{}\n", "nonsense\n", "[]\n", "\n", '{"id": 1}\n', "\xff\n"):
        log.write_text("".join([*lines[:2], wrong, *lines[3:]]), encoding="latin-1")
        with pytest.raises(LogError, match=r"answers\.jsonl, line 3 is no row"):
            Log(log)


def test_rows_are_whole_whatever_the_answer_holds(tmp_path):
    odd = [
        '"}\n{"',
        "\ud800\x00\u2028",
        "x" * 10**6,
        "",
        "\r\n",
        "{" * 1000,
        "Ω" * 50,
        "A",
        "b",
        "NaN",
    ]
    answers = iter(odd * 3)
    candidate = Candidate("m", "1", lambda task, prompts: [next(answers) for _ in prompts])
    found, _ = run(candidate, tmp_path)
    assert found["choice"].n == N
    log = Log(tmp_path / "answers.jsonl")
    assert [row["answer"] for row in rows(tmp_path)] == odd * 3
    assert log.newest_fingerprint("m") == "1" and log.newest_fingerprint("other") is None
    # an empty open answer meets no requirement, and needs no judge to say so
    empty = [row for row in rows(tmp_path) if row["task"] == "open" and not row["answer"].strip()]
    assert len(empty) == 2 and all(row["score"] == 0 and not row["is_valid"] for row in empty)


def test_a_candidate_that_loses_answers_is_stopped(tmp_path):
    candidate = Candidate("m", "1", lambda task, prompts: [""])
    with pytest.raises(ValueError, match="zip"):
        run(candidate, tmp_path)


def test_stored_answers_are_judged_without_answering_again(tmp_path, server, judge):
    run(Oracle().candidate(), tmp_path)
    server.then = judges(
        lambda question: "YES" if "Does the text have exactly" in question else "NO"
    )
    found, text = run(Oracle(stop_after=0).candidate(), tmp_path, judge=judge)
    asked = [item.facts["requirements"] for item in items("open", "dev-test", n=N)]
    met = [
        [r.startswith("Does the text have exactly") for r in requirements] for requirements in asked
    ]
    shares = [sum(each) / len(each) for each in met]
    assert found["open"].score == pytest.approx(sum(shares) / N)
    assert found["open"].drfr == pytest.approx(sum(map(sum, met)) / sum(map(len, met)))
    assert found["open"].n_waiting == 0 and found["open"].judges == ("tiny-judge",)
    assert len(server.requests) == judge.n_calls == sum(map(len, asked))
    assert f"{judge.n_calls} questions to the judge" in text
    usage = json.loads((tmp_path / "summary.json").read_text())["judging"]
    assert usage["input_tokens"] == 100 * judge.n_calls
    run(Oracle(stop_after=0).candidate(), tmp_path, judge=judge)  # nothing is left to ask
    assert len(server.requests) == sum(map(len, asked))


def test_empty_answers_meet_nothing_and_cost_nothing(tmp_path, server, judge):
    candidate = Candidate("silent", "1", lambda task, prompts: [" \n"] * len(prompts))
    found, _ = run(candidate, tmp_path, tasks=["open"], judge=judge)
    assert found["open"].score == found["open"].drfr == 0 and found["open"].invalid_share == 1
    assert server.requests == []


def test_an_answer_judged_while_another_fails_is_kept(tmp_path, server, judge):
    first_arrived, second_failed = threading.Event(), threading.Event()

    def behave(handler, request):
        if "slow" in request["messages"][1]["content"]:
            first_arrived.set()
            second_failed.wait(10)
            time.sleep(0.2)  # the failure reaches the client first
            says("YES")(handler, request)
        else:
            first_arrived.wait(10)
            fails(401)(handler, request)
            second_failed.set()

    server.then = behave
    log = Log(tmp_path / "answers.jsonl")
    todo = []
    for number, answer in enumerate(("slow", "fast")):
        item = Item(f"open/dev/{number}", "open", "Write.", {"requirements": ["Is it?"]}, "")
        row = Row(item.id, "open", "m", "1", "2", answer, None, True, "", 0.0, "0")
        todo.append((item, row))
    with pytest.raises(JudgeError, match="401"):
        judge_answers(todo, judge, log, show_progress=False)
    assert log.find("open/dev/0", "1", "2").score == 1 and len(rows(tmp_path)) == 1


def test_another_judge_judges_anew(tmp_path, server, judge):
    run(Oracle().candidate(), tmp_path, tasks=["open"], judge=judge)
    server.then = says("NO")
    with JudgeClient(server.url, "stricter") as stricter:
        found, _ = run(Oracle().candidate(), tmp_path, tasks=["open"], judge=stricter)
    assert found["open"].score == 0 and found["open"].judges == ("stricter",)


def test_the_estimate_comes_before_the_first_question_and_can_stop_it(tmp_path, server, judge):
    n_asked_when_told = []

    def echo(text):
        n_asked_when_told.append((len(server.requests), text))

    run(Oracle().candidate(), tmp_path, tasks=["open"], judge=judge, echo=echo)
    assert n_asked_when_told[0][0] == 0 and "questions to the judge" in n_asked_when_told[0][1]
    server.requests.clear()
    with (
        pytest.raises(TooExpensive, match=r"above the limit of \$0.001: raise --max-cost"),
        JudgeClient(server.url, "dear") as dear,
    ):
        settings = {"price": Price(1, 1), "max_usd": 0.001}
        run(Oracle().candidate(), tmp_path, tasks=["open"], judge=dear, **settings)
    assert server.requests == []


def test_a_judge_that_spends_more_than_the_limit_is_stopped(tmp_path, server, judge):
    n_questions = sum(len(item.facts["requirements"]) for item in items("open", "dev-test", n=N))
    usage = {"prompt_tokens": 0, "completion_tokens": 10_000}  # 20 times the estimate
    server.then = gives({**completion("YES"), "usage": usage})
    limits = {"price": Price(0, 1000), "max_usd": n_questions * 0.6}
    with pytest.raises(JudgeError, match="are spent, more than --max-cost"):
        run(Oracle().candidate(), tmp_path, tasks=["open"], judge=judge, **limits)
    assert len(server.requests) < n_questions
    assert any(row["score"] == 1 for row in rows(tmp_path))


def test_a_judge_that_fails_midway_loses_nothing(tmp_path, server, judge):
    run(Oracle().candidate(), tmp_path, tasks=["open"])
    server.plan = [says("YES")] * 20 + [fails(401, "expired")] * 20
    with pytest.raises(JudgeError, match="expired"):
        run(Oracle().candidate(), tmp_path, tasks=["open"], judge=judge)
    n_kept = len({row["id"] for row in rows(tmp_path) if row["score"] is not None})
    assert 1 <= n_kept < N
    summary = json.loads((tmp_path / "summary.json").read_text())["tasks"]["open"]
    assert (summary["n_scored"], summary["n_waiting"]) == (n_kept, N - n_kept)
    server.plan.clear()
    server.requests.clear()
    with JudgeClient(server.url, "tiny-judge") as revived:
        found, _ = run(Oracle().candidate(), tmp_path, tasks=["open"], judge=revived)
    assert found["open"].score == 1 and found["open"].n_waiting == 0
    n_asked = {item.id: len(item.facts["requirements"]) for item in items("open", "dev-test", n=N)}
    assert len(server.requests) < sum(n_asked.values())


def test_one_unclear_verdict_is_asked_twice_then_left_without_a_score(tmp_path, server, judge):
    server.plan = [says("banana"), says("YES")]
    found, _ = run(Oracle().candidate(), tmp_path, tasks=["open"], n=1, judge=judge)
    assert found["open"].score == 1  # on asking again
    server.plan = [says("banana"), says("a ripe banana", finish_reason="length")]
    with JudgeClient(server.url, "other") as other:
        found, text = run(Oracle().candidate(), tmp_path, tasks=["open"], n=1, judge=other)
    row = rows(tmp_path)[-1]
    assert row["score"] is None and row["verdicts"][0] is None and all(row["verdicts"][1:])
    assert "requirement 1 was 'a ripe banana', cut off by a token limit" in row["reason"]
    assert found["open"].score is None and found["open"].n_waiting == 0
    assert found["open"].n_unclear == 1
    assert "1 answers got no clear verdict" in text
    with JudgeClient(server.url, "other") as other:
        found, _ = run(Oracle().candidate(), tmp_path, tasks=["open"], n=1, judge=other)
    assert found["open"].score == 1


def test_a_key_in_the_judges_reply_is_not_recorded(tmp_path, server):
    server.then = says("Hmm Bearer sk-SECRET-abcdef")
    with JudgeClient(server.url, "m", api_key="sk-SECRET-abcdef") as judge:
        run(Oracle().candidate(), tmp_path, tasks=["open"], n=1, judge=judge)
    assert "was 'Hmm Bearer ***'" in rows(tmp_path)[-1]["reason"]


def test_a_judge_of_nonsense_is_stopped_early(tmp_path, server, judge):
    server.then = says("As a language model, I like bananas.")
    with pytest.raises(JudgeError, match=r"does not keep to YES and NO.*bananas"):
        run(Oracle().candidate(), tmp_path, tasks=["open"], judge=judge)
    assert all(row["score"] is None for row in rows(tmp_path))


def test_the_table_and_its_numbers(tmp_path):
    found, _ = run(Oracle().candidate(), tmp_path, tasks=["choice"])
    log = Log(tmp_path / "answers.jsonl")
    from dataclasses import replace

    kept = [log.find(row["id"], "1", row["prompt_hash"]) for row in rows(tmp_path)]
    mixed = [replace(row, score=float(i < 4), is_valid=i < 9) for i, row in enumerate(kept)]
    summary = summarise("choice", mixed)
    assert summary.score == 0.4 and summary.invalid_share == 0.1
    assert summary.standard_error == pytest.approx((0.4 * 0.6 / 9) ** 0.5)
    assert table([summary, summarise("open", [])]).splitlines() == [
        "task     n  scored   score  ± s.e.  invalid",
        "choice  10      10  40.0 %  16.3 %   10.0 %",
        "open     0       0       -       -        -",
    ]
    assert summarise("choice", mixed[:1]).standard_error is None
    assert found["choice"].score == 1


# the command line


def call(*words):
    return command.main([str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    random_models.qwen().save_pretrained(folder)
    small_models.tokenizer().save_pretrained(folder)
    return folder


def test_the_command_evaluates_a_folder_and_judges_later(
    folder, tmp_path, server, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", "sk-secret")
    out = tmp_path / "record"
    words = [folder, "--n", 3, "--max-new-tokens", 8, "--batch-size", 2, "--out", out]
    assert call(*words) == 0
    first = capsys.readouterr()
    assert "wait for a judge" in first.out and "paths" in first.err  # the bar
    name = rows(out)[0]["model"]
    assert len(rows(out)) == 9 and name == folder.name
    judge = ["--judge", server.url, "--judge-model", "gpt-5-nano", "--judge-key-env", "MY_KEY"]
    assert call(name, "--n", 3, "--out", out, "--stored", *judge) == 0
    assert "about $" in (told := capsys.readouterr().out) or "under $0.01" in told
    assert "DRFR" in told and len(rows(out)) == 12
    assert server.requests[0]["headers"]["Authorization"] == "Bearer sk-secret"
    for file in out.iterdir():
        assert "sk-secret" not in file.read_text()
    assert call(name, "--n", 4, "--out", out, "--stored") == 2
    assert "lacks answers to paths: run once without --stored" in capsys.readouterr().err


MISTAKES = {
    "no model name": (["--judge", "http://127.0.0.1:9/v1"], "needs --judge-model too"),
    "no address": (["--judge", "nowhere", "--judge-model", "m"], "needs http:// or https://"),
    "no key": (
        ["--judge", "http://h/v1", "--judge-model", "m", "--judge-key-env", "NO_SUCH_KEY"],
        "variable NO_SUCH_KEY is not set",
    ),
    "no price": (
        ["--judge", "http://h/v1", "--judge-model", "m", "--max-cost", "1"],
        "give --judge-price",
    ),
    "no JSON": (
        ["--judge", "http://h/v1", "--judge-model", "m", "--judge-body", "[1]"],
        "needs a JSON object",
    ),
    "no task": (["--tasks", "paths,essay"], "no task called 'essay'"),
    "too many": (["--n", "101"], "n is 1 to 100"),
    "nothing stored": (["--stored"], "holds no answer of"),
    "batch": (["--batch-size", "0"], "must be 1 or more"),
    "never trained": (["tiny-untrained"], "take tiny-target"),
    "random weights": (["tiny-mha"], "take tiny-target"),
    "a judge's port": (
        ["--judge", "http://localhost:notaport/v1", "--judge-model", "m"],
        "needs http:// or https://",
    ),
    "no time": (
        ["--judge", "http://h/v1", "--judge-model", "m", "--judge-timeout", "0"],
        "--judge-timeout needs seconds",
    ),
    "a key in the body": (
        ["--judge", "http://h/v1", "--judge-model", "m", "--judge-body", '{"api_key": "sk-1"}'],
        "--judge-key-env",
    ),
    "no such model": (["no-such-model"], "no-such-model"),
}


@pytest.mark.parametrize(("words", "text"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_end_with_a_sentence_and_status_2(words, text, folder, tmp_path, capsys):
    model = [] if words[0][0] != "-" else [folder]
    assert call(*model, *words, "--out", tmp_path) == 2
    told = capsys.readouterr().err
    assert text in told and "Traceback" not in told


def test_a_refused_judge_keeps_the_answers(folder, tmp_path, capsys):
    words = [folder, "--n", 1, "--max-new-tokens", 4, "--out", tmp_path]
    judge = ["--judge", "http://127.0.0.1:9/v1", "--judge-model", "m"]
    assert call(*words, *judge) == 2
    told = capsys.readouterr()
    assert "no connection to the judge at http://127.0.0.1:9/v1" in told.err
    assert "wait for a judge" in told.out and len(rows(tmp_path)) == 3


@pytest.fixture
def heeds_ctrl_c():
    """A run in the background begins with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_says_how_to_go_on(folder, tmp_path, monkeypatch, capsys):
    def interrupted(*_, **__):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(command, "answer_items", interrupted)
    assert call(folder, "--out", tmp_path) == 130
    assert "the same command continues from here" in capsys.readouterr().err


def test_the_command_shows_its_options():
    command = [sys.executable, "-m", "training.evaluate", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--judge-model" in done.stdout and "--open-book" in done.stdout


def test_importing_the_tasks_loads_neither_torch_nor_transformers():
    code = (
        "import sys, training.evaluate, training.tasks.paths, training.tasks.choice;"
        "print([m for m in ('torch', 'transformers', 'networkx', 'httpx') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
