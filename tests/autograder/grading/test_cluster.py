"""Grading on a Dask cluster: several worker processes with TLS, and everything that ends them.

What happens to machines is played with slots that only sleep; one test has real slots.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from distributed.security import Security

from autograder.builder.source import find_lab
from autograder.grading.cluster import grading
from autograder.grading.cluster.connection import Connection
from autograder.grading.cluster.grading import Patience, grade_on_cluster
from autograder.grading.cluster.keys import ClusterError, write_keys
from autograder.grading.grade import GradingSettings, grade
from autograder.intake.collect import Submission
from autograder.judging.jobs import SlotSettings
from autograder.places import REPOSITORY
from autograder.record.log import read_results
from tests.sample_class import samples_of

LAB = "01_memory"
STUDENTS = ("ada", "carol", "dora", "ida", "x04")
DASK = Path(sys.executable).with_name("dask")
FAKE_SLOTS = Path(__file__).with_name("fake_slots.py")
SETTINGS = SlotSettings(lab=LAB, master="", student_path="", seed=7, rung="none")
HASTY = Patience(answer_s=10, gone_s=120, late_s=2, late_factor=4)
PATIENT = Patience(late_s=1000)
START_S = 120
REGISTERED = "Registered to:"

# Dask leaves the connection to a killed worker to the collector
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def wait_until(condition):
    end = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.05)


class Machines:
    """A scheduler and its workers, each a process as a TA starts it."""

    def __init__(self, folder, **settings):
        self.folder, self.settings = folder, settings
        self.keys = write_keys(folder / "keys")
        self.journal = folder / "journal"
        self.journal.touch()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tls://127.0.0.1:{free.getsockname()[1]}"
        self.processes = []
        self.scheduler = self.start_scheduler()

    def start_scheduler(self):
        port = self.address.rpartition(":")[2]
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", port)
        return self.scheduler

    def start_worker(self, *options):
        place = ("--local-directory", self.folder, "--memory-limit", "0", "--host", "127.0.0.1")
        return self._start("worker", self.address, "--nthreads", "1", *place, *options)

    def start_fake_workers(self, n, *options):
        """Start workers whose slots only sleep, and wait until they are there."""
        log = self.folder / "log"
        n_there = log.read_text().count(REGISTERED)
        how = ("--preload", FAKE_SLOTS, *(options or ["--no-nanny"]))
        workers = [self.start_worker(*how) for _ in range(n)]
        wait_until(lambda: log.read_text().count(REGISTERED) >= n_there + n)
        return workers

    def _start(self, *command):
        ours = {"DASK_CONFIG": str(self.keys), "FAKE_SLOTS_JOURNAL": str(self.journal)}
        with (self.folder / "log").open("a") as log:
            process = subprocess.Popen(
                [DASK, *command, "--no-dashboard"],
                env=os.environ | ours | self.settings,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    @property
    def started(self):
        """The submissions that were begun: (worker's process, student), in order."""
        lines = self.journal.read_text().splitlines()
        return [(int(pid), student) for pid, student in map(str.split, lines)]

    def wait_until_started(self, n):
        wait_until(lambda: len(self.started) >= n)

    def grade(self, todo, patience=PATIENT, settings=SETTINGS):
        return grade_on_cluster(todo, settings, self.address, self.keys, patience)

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def machines(tmp_path):
    machines = Machines(tmp_path)
    yield machines
    machines.close()
    gc.collect()  # here, and not in the middle of another test


def submissions(n, **plan):
    content = json.dumps(plan).encode()
    return [Submission(f"s{i:02d}", "x.ipynb", content) for i in range(n)]


def assert_each_graded_once(outcomes, todo):
    assert len(outcomes) == len(todo)
    assert {outcome.submission.student for outcome in outcomes} == {one.student for one in todo}
    assert {outcome.result.status for outcome in outcomes} == {"graded"}


def test_a_killed_worker_costs_nothing_and_the_rest_goes_on(machines):
    killed, survivor = machines.start_fake_workers(2)
    todo = submissions(12, sleep=0.3)
    outcomes = machines.grade(todo)
    machines.wait_until_started(3)
    killed.kill()
    assert_each_graded_once(list(outcomes), todo)
    assert {pid for pid, _ in machines.started[-5:]} == {survivor.pid}


def test_what_a_hanging_worker_holds_is_graded_elsewhere(machines):
    workers = machines.start_fake_workers(2)
    todo = submissions(10, sleep=0.2)
    outcomes = machines.grade(todo, HASTY)
    machines.wait_until_started(3)
    hung = machines.started[-1][0]
    os.kill(hung, signal.SIGSTOP)
    assert_each_graded_once(list(outcomes), todo)
    assert {worker.pid for worker in workers} == {pid for pid, _ in machines.started}


def test_the_first_outcome_of_a_straggler_counts_and_there_is_one(machines):
    machines.start_fake_workers(2)
    slow, *rest = submissions(6, sleep=0.1)
    plan = {"sleep": 600, "once": str(machines.folder / "once")}
    todo = [Submission(slow.student, slow.file_name, json.dumps(plan).encode()), *rest]
    outcomes = list(machines.grade(todo, HASTY))
    assert_each_graded_once(outcomes, todo)
    tried = [pid for pid, student in machines.started if student == slow.student]
    assert len(tried) == len(set(tried)) == 2  # on two workers


def test_a_scheduler_that_comes_back_gets_what_has_no_outcome(machines):
    machines.start_fake_workers(1)
    todo = submissions(8, sleep=0.3)
    outcomes = machines.grade(todo, HASTY)
    done = [next(outcomes), next(outcomes)]
    machines.scheduler.kill()
    machines.start_scheduler()
    machines.start_fake_workers(1)
    done += outcomes
    assert_each_graded_once(done, todo)


def test_a_client_that_looks_for_its_scheduler_says_that_it_is_gone():
    connection = Connection("tls://somewhere:1", Security(), 1.0)
    connection._client = SimpleNamespace(scheduler=None)
    for ask in (connection.n_threads, lambda: connection.busy_with([])):
        with pytest.raises(OSError, match="is gone"):
            ask()
    with pytest.raises(OSError, match="is gone"):
        connection.submit(b"", [])


def test_a_scheduler_that_stays_away_is_one_sentence(machines):
    outcomes = machines.grade(submissions(3), Patience(answer_s=10, gone_s=1))
    machines.scheduler.terminate()
    with pytest.raises(ClusterError, match="has been gone for 1 s: start it again"):
        list(outcomes)


def test_a_submission_that_kills_workers_takes_no_other_with_it(tmp_path):
    killer = Submission("killer", "x.ipynb", b'{"sleep": 0.5, "kill": true}')
    todo = submissions(3)
    with closing(Machines(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0")) as machines:
        machines.start_fake_workers(1, "--nanny")
        outcomes = {one.submission.student: one for one in machines.grade([killer, *todo])}
    assert outcomes["killer"].result.status == "error"
    assert outcomes["killer"].result.score is None
    assert "killed, again and again" in outcomes["killer"].result.problem
    assert len(outcomes) == 4
    assert_each_graded_once([outcomes[one.student] for one in todo], todo)


def test_work_waits_for_the_first_worker(machines, caplog):
    todo = submissions(2)
    outcomes = machines.grade(todo)
    machines.start_fake_workers(1)
    assert_each_graded_once(list(outcomes), todo)
    assert "no workers: waiting" in caplog.text


def test_only_those_who_hold_the_key_are_let_in(machines, tmp_path):
    others = write_keys(tmp_path / "others")
    with pytest.raises(ClusterError, match=r"no scheduler answers .* with the keys of"):
        grade_on_cluster([], SETTINGS, machines.address, others, Patience(answer_s=2))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "127.0.0.1:8786", "inproc://x"])
def test_an_address_without_tls_is_refused(address, tmp_path):
    keys = write_keys(tmp_path / "keys")
    with pytest.raises(ClusterError, match="no address of a scheduler with TLS: give tls://"):
        grade_on_cluster([], SETTINGS, address, keys)


def test_a_scheduler_file_without_tls_is_refused(tmp_path):
    keys = write_keys(tmp_path / "keys")
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": "tcp://127.0.0.1:8786"}))
    with pytest.raises(ClusterError, match="give tls://"):
        grade_on_cluster([], SETTINGS, str(file), keys)
    file.write_text("[]")
    with pytest.raises(ClusterError, match="no scheduler file"):
        grade_on_cluster([], SETTINGS, str(file), keys)


def test_keys_are_for_their_owner_alone_and_never_written_over(tmp_path):
    folder = write_keys(tmp_path / "a" / "keys")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    with pytest.raises(ClusterError, match="holds keys already"):
        write_keys(folder)
    (folder / "key.pem").chmod(0o640)
    with pytest.raises(ClusterError, match="others can read"):
        grade_on_cluster([], SETTINGS, "tls://127.0.0.1:8786", folder)
    with pytest.raises(ClusterError, match="autograder cluster-keys"):
        grade_on_cluster([], SETTINGS, "tls://127.0.0.1:8786", tmp_path)


def products(out):
    """All that must be the same wherever it was graded."""
    results = [result.without_measurements() for result in read_results(out / "results.jsonl")]
    pages = [*(out / "feedback").rglob("*.html"), *(out / "course" / "autograded").rglob("*.ipynb")]
    files = {path.relative_to(out): path.read_bytes() for path in [*pages, out / "marks.csv"]}
    return results, files


def kill_when_one_is_graded(worker, log):
    """Kill a worker's process; returns the processes that it had started."""
    wait_until(lambda: log.exists() and log.read_bytes())
    slots = psutil.Process(worker.pid).children(recursive=True)
    worker.kill()
    return slots


def test_a_cluster_gives_the_bytes_of_one_machine_though_a_worker_is_killed(
    machines, tmp_path, monkeypatch
):
    workers = [machines.start_worker("--no-nanny") for _ in range(2)]
    for sample in samples_of(LAB, STUDENTS):
        sample.write(tmp_path / "in")
    lab, alone, spread = find_lab(LAB), tmp_path / "alone", tmp_path / "spread"
    grade(lab, tmp_path / "in", alone, GradingSettings(seed=7))
    with ThreadPoolExecutor(1) as pool:
        slots = pool.submit(kill_when_one_is_graded, workers[0], spread / "results.jsonl")
        on_cluster = GradingSettings(seed=7, cluster=machines.address, cluster_keys=machines.keys)
        grade(lab, tmp_path / "in", spread, on_cluster)
    assert products(spread) == products(alone)
    assert slots.result()
    assert psutil.wait_procs(slots.result(), timeout=10)[1] == []  # they end with their worker

    other = (("marking files", "0" * 64), *grading.installation()[1:])
    monkeypatch.setattr(grading, "installation", lambda: other)
    with pytest.raises(ClusterError, match=r"another version .* there, 000000000000 here"):
        list(machines.grade(submissions(1)))


def documented_program():
    """The program of docs/cluster.md that starts a cluster on SLURM."""
    text = (REPOSITORY / "docs" / "cluster.md").read_text()
    return text.partition("```python\n")[2].partition("```")[0]


def test_the_documented_program_grades_with_dask_jobqueue_and_our_keys(tmp_path):
    keys = write_keys(tmp_path / ".labkit-cluster")
    local = f'SLURMCluster(interface="lo", local_directory="{tmp_path}",'
    program = (
        documented_program()
        .replace("from dask_jobqueue import", "from dask_jobqueue.local import LocalCluster as")
        .replace("SLURMCluster(", local)
        .replace('"--no-dashboard"', f'"--no-dashboard", "--preload", "{FAKE_SLOTS}"')
        .replace("jobs=10", "jobs=1")
    )
    ours = {"HOME": str(tmp_path), "FAKE_SLOTS_JOURNAL": str(tmp_path / "journal")}
    process = subprocess.Popen([sys.executable, "-c", program], env=os.environ | ours)
    try:
        file, todo = tmp_path / "scheduler.json", submissions(3)
        wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        outcomes = list(grade_on_cluster(todo, SETTINGS, str(file), keys, PATIENT))
    finally:
        process.kill()
        process.wait()
    assert_each_graded_once(outcomes, todo)


def test_the_documented_program_asks_slurm_for_what_the_text_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_keys(tmp_path / ".labkit-cluster")
    program = documented_program().partition("cluster.scale")[0]
    names = {}
    exec(program.replace("SLURMCluster(", "SLURMCluster(interface='lo',"), names)
    with names["cluster"] as cluster:
        script = cluster.job_script()
        assert cluster.scheduler_address.startswith("tls://")
    assert "#SBATCH --cpus-per-task=4" in script
    assert "--nthreads 4" in script
    assert f"--tls-key {tmp_path}/.labkit-cluster/key.pem" in script
