"""`autograder mark`: addresses with tokens, and refusals in one sentence."""

import os
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest
from recorded import record, result_of
from typer.testing import CliRunner

from autograder.cli import app
from autograder.desk.serve import origin_of
from autograder.grading.cluster.keys import write_keys
from autograder.places import REPOSITORY

SERVE = [sys.executable, "-u", "-m", "autograder"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("serve")
    record(out, [result_of("ada")])
    return out


@contextmanager
def started(out, *options, command="mark"):
    """The lines that the command prints first, one for each person."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        [*SERVE, command, out, *options], stdout=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            yield server.stdout
        finally:
            server.terminate()


def home(address, **options):
    with httpx.Client(follow_redirects=True, trust_env=False, timeout=60, **options) as client:
        return client.get(address).text


def test_the_command_prints_an_address_for_each_person_that_opens_the_desk(out):
    with started(out, "--ta", "bea", "--reader", "lee") as printed:
        first, second = printed.readline(), printed.readline()
        assert first.startswith("bea, marker: http://127.0.0.1:")
        assert second.startswith("lee, reader: http://127.0.0.1:")
        assert "01_memory: growth" in home(first.split()[-1])


def test_questions_of_students_are_read_from_a_table(out, tmp_path):
    table = tmp_path / "appeals.csv"
    table.write_text("lab,exercise,student,text\n01_memory,kv_table,ada,Why?\n")
    with started(out, "--appeals", table) as printed:
        assert printed.readline() == "1 questions of students are read.\n"


def test_with_its_two_files_the_desk_speaks_tls(out, tmp_path):
    folder = write_keys(tmp_path / "keys")
    files = ["--tls-cert", folder / "certificate.pem", "--tls-key", folder / "key.pem"]
    with started(out, "--host", "localhost", *files) as printed:
        address = printed.readline().split()[-1]
        assert address.startswith("https://localhost:")
        assert "01_memory: growth" in home(address, verify=False)


def test_the_overview_is_a_command_of_its_own(out):
    with started(out, command="overview") as printed:
        assert "Where the class is" in home(printed.readline().split()[-1])


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


def test_browsers_leave_out_the_port_that_the_scheme_implies():
    assert origin_of("https", "desk.example", 443) == "https://desk.example"
    assert origin_of("http", "127.0.0.1", 443) == "http://127.0.0.1:443"


def test_without_a_gradebook_there_is_nothing_to_mark(tmp_path):
    done = CliRunner().invoke(app, ["mark", str(tmp_path)])
    assert (done.exit_code, "grade first" in done.output) == (2, True)
