"""What student code sees and can do behind the wall: on each rung, as root and as a plain user."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

import autograder.judging.wall as wall
from autograder.judging.child import processes
from autograder.judging.wall import (
    ChildSettings,
    NoWall,
    confine_judge,
    seccomp,
    strongest_rung,
    syscalls,
)
from autograder.judging.wall import landlock as landlock_module

REPOSITORY = Path(__file__).resolve().parents[3]
PROBES = Path(__file__).with_name("probes")
SECRET = "only the grader knows"
DISK_MB, N_PROCESSES = 40, 30  # as in probes/look.py
FILE_MB = {"namespaces": 60, "landlock": 30}
PLAIN_UID = 1234
USERS = (0, PLAIN_UID) if os.getuid() == 0 else (os.getuid(),)
REFUSED = {"FileNotFoundError", "ModuleNotFoundError", "PermissionError", "ProcessLookupError"}


ENVIRONMENT = {"PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1", "LANG": "C.UTF-8"}


def command_as(uid: int, *args: str) -> list[str]:
    """The command line that runs a Python program as this user."""
    python = [sys.executable, "-s", "-P", "-B"]
    change = [str(PROBES / "as_user.py"), str(uid), *python[1:]] if os.getuid() == 0 else []
    return [*python, *change, *args]


@cache
def run_as(uid: int, *args: str, site: Path = REPOSITORY) -> str:
    """What a Python program prints, run as this user in a clean environment with our code."""
    done = subprocess.run(
        command_as(uid, *args),
        env={**ENVIRONMENT, "PYTHONPATH": str(site)},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@cache
def places() -> list[str]:
    """Each user with each rung that works for them, for instance "1234 landlock"."""
    ask = "from autograder.judging.wall import *; print(*(r for r in RUNGS[:2] if not why_not(r)))"
    return [f"{uid} {rung}" for uid in USERS for rung in run_as(uid, "-c", ask).split()]


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A folder that every user may enter and fill, with a students' labkit in it."""
    with tempfile.TemporaryDirectory(prefix="labkit-test-") as name:
        path = Path(name)
        path.chmod(0o777)
        shutil.copytree(REPOSITORY / "labkit", path / "student" / "labkit")
        for package in ("autograder", "labkit"):
            shutil.copytree(REPOSITORY / package, path / "site" / package)
        (path / "site" / "beside.txt").write_text(SECRET)
        yield path


@pytest.fixture(scope="session", params=places())
def seen(request: pytest.FixtureRequest, folder: Path) -> dict:
    """What a cell saw, with the user and the rung it ran under."""
    uid, rung = request.param.split()
    look = (str(PROBES / "look.py"), rung, str(folder))
    return {**json.loads(run_as(int(uid), *look, site=folder / "site")), "rung": rung}


def test_it_reads_what_it_is_shown_and_nothing_else(seen: dict) -> None:
    files = seen["files"]
    shown = ("shown", "beside a hidden file", "beside the grader")
    assert {files.pop(name) for name in shown} == {SECRET}
    assert {"hidden cases", "a key", "our grader", "our labkit"} < set(files)
    assert len(files) == 9
    for name, content in files.items():
        assert content in REFUSED | {""}, name


def test_it_writes_to_its_own_folders_only(seen: dict) -> None:
    assert seen["own_files"] == ["written", "written"]
    assert set(seen["writes"].values()) <= {*REFUSED, "OSError"}
    assert len(seen["writes"]) == 4


def test_it_sees_no_process_but_its_own(seen: dict) -> None:
    if seen["rung"] == "namespaces":
        assert seen["processes"] == [str(seen["pid"])] == ["1"]
    else:
        assert seen["processes"] == "PermissionError"


def test_it_signals_nobody(seen: dict) -> None:
    signals = [seen["grader_signal"], seen["parent_signal"], *seen["zygote_signals"]]
    assert len(signals) >= 4
    assert set(signals) <= {"PermissionError", "ProcessLookupError"}


def test_no_secret_of_the_grader_is_in_an_environment(seen: dict) -> None:
    assert seen["grader_environment"] in REFUSED
    assert seen["parent_environment"] in REFUSED
    assert "PATH=" in seen["own_environment"]
    assert SECRET not in seen["own_environment"]
    assert SECRET not in seen["environ"].values()
    assert len(seen["environ"]) < 20


def test_it_opens_no_socket_to_the_world(seen: dict) -> None:
    assert set(seen["families"].values()) == {"PermissionError"}
    assert seen["raw_socket"] == "PermissionError"
    assert seen["named_socket"] in REFUSED
    assert seen["abstract_socket"] in {*REFUSED, "ConnectionRefusedError"}
    assert seen["pair"] == "x"


def test_calls_that_attack_the_kernel_are_refused(seen: dict) -> None:
    assert len(seen["calls"]) == 19
    assert set(seen["calls"].values()) == {errno.EPERM}


def test_it_has_no_privilege_and_gains_none(seen: dict) -> None:
    status = seen["status"]
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert "0" not in status["Uid"].split()


def test_no_descriptor_is_inherited_but_the_channel(seen: dict) -> None:
    others = [name for name in seen["descriptors"] if not name.endswith(" (deleted)")]
    assert others[0] == "/dev/null"
    assert len(others) == 2
    assert others[1].startswith("socket:")


def test_fork_bombs_and_full_disks_stop_at_their_cap(seen: dict) -> None:
    assert N_PROCESSES - 2 <= seen["n_forks"] <= N_PROCESSES
    cap_mb = min(DISK_MB, FILE_MB[seen["rung"]])
    assert cap_mb - 1 <= seen["mb_until_full"] <= cap_mb
    assert seen["core_bytes"] == 0


def test_many_files_fill_no_disk_and_none_stays(seen: dict) -> None:
    over = f"its process ended (signal 9 (disk over {DISK_MB} MB or 20,000 files))"
    if seen["rung"] == "namespaces":  # the disk itself is small, and gone with its processes
        assert seen["many_files"] == ["lives on", "lives on"]
    else:
        assert seen["many_files"] == [over, over]
    assert seen["left_on_disk"] == []


@pytest.mark.parametrize("place", places())
def test_nothing_runs_on_after_the_grader_is_killed(place: str, folder: Path) -> None:
    with driven(place, folder) as (grader, pids):
        grader.kill()
        assert_all_end(pids)


def test_nothing_runs_on_after_the_zygote_is_killed(folder: Path) -> None:
    with driven(places()[-1], folder) as (_, pids):
        os.kill(pids[1], signal.SIGKILL)
        assert_all_end(pids)


@contextmanager
def driven(place: str, folder: Path) -> Iterator[tuple[subprocess.Popen, list[int]]]:
    """A grader at work, and what runs below it: keeper, zygote, child, the student's daemon."""
    uid, rung = place.split()
    command = command_as(int(uid), str(PROBES / "driver.py"), rung, str(folder / "student"))
    scratch = folder / f"scratch {place}"
    scratch.mkdir(exist_ok=True)
    scratch.chmod(0o777)
    environment = {**ENVIRONMENT, "TMPDIR": str(scratch)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd="/"
    ) as grader:
        pids = [int(pid) for pid in grader.stdout.readline().split()]
        assert len(pids) == 4
        try:
            yield grader, pids
        finally:
            grader.kill()
    assert list(scratch.iterdir()) == []


def assert_all_end(pids: list[int]) -> None:
    """All of them are gone within seconds."""
    for _ in range(100):
        if not any(processes.is_running(pid) for pid in pids):
            return
        time.sleep(0.05)
    pytest.fail(f"{pids} live on")


def test_labkit_is_the_students_edition(seen: dict, folder: Path) -> None:
    assert seen["labkit"] == str(folder / "student" / "labkit" / "__init__.py")
    assert seen["real_labkit_modules"] == []
    assert seen["cases"] in REFUSED


def test_a_confined_judge_judges_on_and_does_nothing_else(folder: Path) -> None:
    tried = json.loads(run_as(USERS[-1], str(PROBES / "judge.py"), str(folder)))
    assert tried.pop("write where it may") == 1
    assert tried.pop("grade on") == 42
    assert set(tried.pop("signals")) == {"PermissionError"}
    assert tried == dict.fromkeys(tried, "PermissionError")
    assert len(tried) == 5


def test_a_process_with_threads_is_not_confined_by_halves() -> None:
    ask = (
        "import threading, time; from autograder.judging.wall import confine_judge\n"
        "threading.Thread(target=time.sleep, args=[2], daemon=True).start()\n"
        "try: confine_judge(['/'])\nexcept RuntimeError as error: print(error)\n"
    )
    assert run_as(USERS[-1], "-c", ask).startswith("2 threads run already")


def test_without_any_rung_one_sentence_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wall, "why_not", lambda rung: f"no {rung} here")
    with pytest.raises(NoWall, match=r"no namespaces here.*no landlock here.*--no-sandbox"):
        strongest_rung()


def test_in_a_container_that_forbids_namespaces_landlock_takes_over() -> None:
    """The calls that Docker's default profile refuses to a container without CAP_SYS_ADMIN."""
    ask = (
        "from autograder.judging.wall import seccomp, strongest_rung, why_not\n"
        "rules = [seccomp._refuse(name) for name in seccomp.ESCAPE]\n"
        "rules.append(seccomp._refuse('clone3', 38))\n"
        "new = seccomp._bits(seccomp._NEW_NAMESPACES, seccomp._fail(), seccomp._allow())\n"
        "rules.append(seccomp._on_argument('clone', 0, new))\n"
        "seccomp.install(seccomp._program(rules))\n"
        "print(why_not('namespaces') and strongest_rung())\n"
    )
    for place in places():
        uid, rung = place.split()
        if rung == "landlock":
            assert run_as(int(uid), "-c", ask).split() == ["landlock"]


@pytest.mark.parametrize("system, processor", [("darwin", "arm64"), ("linux", "riscv64")])
def test_an_unknown_machine_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, system: str, processor: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: processor)
    with pytest.raises(NoWall, match=f"not {system} "):
        confine_judge([])


@pytest.mark.parametrize("processor", ["x86_64", "aarch64"])
@pytest.mark.parametrize("unix_sockets", [True, False])
def test_the_filter_decides_by_number_and_argument(
    monkeypatch: pytest.MonkeyPatch, processor: str, unix_sockets: bool
) -> None:
    monkeypatch.setattr("platform.machine", lambda: processor)
    program = seccomp.child_filter.__wrapped__(unix_sockets)
    arch = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[processor]

    def verdict(name: str, *args: int) -> int:
        return play_filter(program, syscalls.number(name), arch, args)

    allow, fail, kill = 0x7FFF0000, 0x50000, 0x80000000
    assert verdict("mount") == verdict("ptrace") == fail | errno.EPERM
    assert verdict("clone", 0x11) == allow
    assert verdict("clone", 0x10000000) == fail | errno.EPERM
    assert verdict("clone3") == fail | errno.ENOSYS
    assert verdict("socket", 2, 1) == fail | errno.EPERM
    assert verdict("socket", 1, 1) == (allow if unix_sockets else fail | errno.EPERM)
    assert verdict("socketpair", 1, 1) == allow
    assert verdict("socketpair", 1, 2) == (allow if unix_sockets else fail | errno.EPERM)
    assert verdict("ioctl", 0, 0x5412) == fail | errno.EPERM
    assert verdict("ioctl", 0, 0x5401) == allow
    assert play_filter(program, 10_000, arch, ()) == fail | errno.ENOSYS
    assert play_filter(program, 0x40000000, arch, ()) == kill
    assert play_filter(program, 0, 0x40000003, ()) == kill


def play_filter(program: bytes, number: int, arch: int, args: tuple[int, ...]) -> int:
    """The kernel's part: run a filter on one system call."""
    padded = [*args, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, arch, 0, *padded)
    steps = list(struct.iter_unpack("=HBBI", program))
    value = position = 0
    while True:
        code, if_true, if_false, operand = steps[position]
        position += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                value &= operand
            case 0x06:
                return operand
            case 0x15 | 0x35 | 0x45:
                holds = {0x15: value == operand, 0x35: value >= operand, 0x45: value & operand}
                position += if_true if holds[code] else if_false


def test_what_is_hidden_is_cut_out_of_what_is_shown(tmp_path: Path) -> None:
    for name in ("a/b/x", "a/b/y", "a/c/x", "d/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b" / "x")
    hidden = [tmp_path / "a" / "b" / "x", tmp_path / "d"]
    parts = landlock_module.visible(tmp_path, hidden)
    assert sorted(parts) == [tmp_path / "a" / "b" / "y", tmp_path / "a" / "c"]


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"memory_mb": 0}, "positive whole number, got 0"),
        ({"n_processes": 2.5}, "positive whole number, got 2.5"),
        ({"read_only": ("here",)}, "absolute paths, got here"),
        ({"read_only": ("/a/b",), "hidden": ("/a",)}, "/a/b cannot be readable below /a"),
    ],
)
def test_settings_say_what_is_wrong_with_them(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChildSettings(**wrong)
