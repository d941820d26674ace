"""The grader's side of a look behind the wall: `python look.py RUNG FOLDER`, prints JSON.

FOLDER holds `student/labkit`, and `site`, the grader and its labkit as installed. This program may
put its own files there.
"""

import json
import os
import socket
import sys
import tempfile
from pathlib import Path

import autograder
import labkit
from autograder.judging.child import processes
from autograder.judging.client import ZygoteHandle
from autograder.judging.ends import StudentEnded
from autograder.judging.wall import ChildSettings
from labkit.bridge.requests import value_of

FILL = """
for number in range(80):
    with open(f"{number}", "wb") as file: file.write(bytes(1 << 20))
"""
NEST = """
import os
for number in range(1500):
    os.mkdir("deeper"); os.chdir("deeper")
os.mkdir("closed", mode=0)
"""
DISK_MB, N_PROCESSES = 40, 30
OWN_UID = 61_500  # no other test's: without a user namespace the kernel counts all of a user's
FILE_MB = {"namespaces": 60, "landlock": 30}  # on the latter, a full disk ends the cell
SECRET = "only the grader knows"


def outcome(zygote: ZygoteHandle, source: str) -> str:
    """How a cell fares in a child of its own, which is watched for a while after."""
    with zygote.spawn() as child:
        try:
            child.run_cell(f"{source}\nimport time; time.sleep(0.5)")
            outputs = child.run_cell("1").outputs
        except StudentEnded as ended:
            return str(ended)
    return outputs[0].get("ename", "lives on")


def main(rung: str, folder: Path) -> None:
    """Spawn a child on this rung, let it look around, print what it saw."""
    own = folder / f"{rung}-{os.getuid()}"
    shown, elsewhere = own / "shown", own / "elsewhere"
    scratch = own / "scratch"
    for path in (shown / "hidden", shown / "half" / "inner", elsewhere, scratch):
        path.mkdir(parents=True)
    files = {
        "shown": shown / "data.txt",
        "hidden folder": shown / "hidden" / "answers.txt",
        "hidden file": shown / "half" / "answers.txt",
        "beside a hidden file": shown / "half" / "inner" / "data.txt",
        "another temporary folder": elsewhere / "gradebook.txt",
    }
    for path in files.values():
        path.write_text(SECRET)
    files["passwords"] = Path("/etc/passwd")
    files["our labkit"] = Path(labkit.__file__)
    files["our grader"] = Path(autograder.__file__)
    site = Path(autograder.__file__).parents[1]
    (files["hidden cases"],) = site.glob("autograder/labs/memory/cases/__init__.py")
    (files["a key"],) = site.glob("autograder/labs/papers/keys/q01_*.toml")
    files["beside the grader"] = site / "beside.txt"
    files["the repository"] = Path(__file__).parents[4] / "pyproject.toml"
    settings = ChildSettings(
        student_path=folder / "student",
        preload=("labkit.checks",),
        rung=rung,
        read_only=(shown, site),  # as where the grader is installed beside the interpreter
        hidden=(shown / "hidden", shown / "half" / "answers.txt"),
        disk_mb=DISK_MB,
        file_mb=FILE_MB[rung],
        n_processes=N_PROCESSES,
        uid=OWN_UID,
    )
    os.environ["SECRET"] = SECRET
    tempfile.tempdir = str(scratch)
    daemon = socket.socket(socket.AF_UNIX)
    daemon.bind(str(own / "socket"))
    daemon.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{own}")
    abstract.listen()
    student = folder / "student"
    with ZygoteHandle(settings) as zygote:
        facts = {
            "grader": os.getpid(),
            "zygotes": processes.descendants(os.getpid()),
            "files": {name: str(path) for name, path in files.items()},
            "writes": {
                "site-packages": str(Path(json.__file__).parent / "planted.py"),
                "shown": str(shown / "planted.txt"),
                "student's labkit": str(student / "labkit" / "planted.py"),
                "elsewhere": str(elsewhere / "planted.txt"),
            },
            "socket": str(own / "socket"),
            "abstract_socket": f"\0{own}",
            "real_labkit": str(Path(labkit.__file__).parent),
        }
        with zygote.spawn() as child:
            source = Path(__file__).with_name("cell.py").read_text()
            result = child.run_cell(source.replace("FACTS", repr(facts)), timeout_s=20)
            if not result.ok:
                raise SystemExit(str(result.outputs))
            seen = value_of(child.student.seen)
        seen["many_files"] = [outcome(zygote, FILL), outcome(zygote, NEST)]
    seen["left_on_disk"] = [path.name for path in scratch.iterdir()]
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
