"""`autograder mark`: addresses with tokens, and refusals in one sentence."""

import os
import subprocess
import sys

import httpx
import pytest
from recorded import record, result_of
from typer.testing import CliRunner

from autograder.builder.source import REPOSITORY
from autograder.cli import app

SERVE = [sys.executable, "-u", "-m", "autograder", "mark"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("serve")
    record(out, [result_of("ada")])
    return out


def test_the_command_prints_an_address_for_each_person_that_opens_the_desk(out):
    people = ["--ta", "bea", "--reader", "lee"]
    with subprocess.Popen(
        [*SERVE, out, *people], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=os.environ
    ) as server:
        try:
            first, second = server.stdout.readline(), server.stdout.readline()
            assert first.startswith("bea, marker: http://127.0.0.1:")
            assert second.startswith("lee, reader: http://127.0.0.1:")
            address = first.split()[-1]
            with httpx.Client(follow_redirects=True, trust_env=False, timeout=60) as client:
                assert "01_memory: growth" in client.get(address).text
        finally:
            server.terminate()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--host", "0.0.0.0"], "needs --tls-cert and --tls-key"),
        (["--host", "0.0.0.0", "--tls-cert", "no.pem", "--tls-key", "no.pem"], "no.pem does not"),
        (["--host", "256.0.0.1", "--tls-cert", __file__, "--tls-key", __file__], "cannot be used"),
    ],
)
def test_what_is_not_safe_or_not_possible_is_refused_in_a_sentence(out, options, sentence):
    done = CliRunner().invoke(app, ["mark", str(out), *options])
    assert done.exit_code == 2
    assert sentence in done.output


def test_without_a_gradebook_there_is_nothing_to_mark(tmp_path):
    done = CliRunner().invoke(app, ["mark", str(tmp_path)])
    assert (done.exit_code, "grade first" in done.output) == (2, True)
