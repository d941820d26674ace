"""The grader's side of a look behind the wall: `python look.py RUNG FOLDER`, prints JSON.

FOLDER holds `student/labkit`, and is where this program may put its own files.
"""

import json
import os
import socket
import sys
from pathlib import Path

import autograder
import labkit
from autograder.child import processes
from autograder.client import ChildSettings, WallSettings, Zygote
from labkit.student import value_of

DISK_MB, FILE_MB, N_PROCESSES = 40, 60, 30
SECRET = "only the grader knows"


def main(rung: str, folder: Path) -> None:
    """Spawn a child on this rung, let it look around, print what it saw."""
    own = folder / f"{rung}-{os.getuid()}"
    shown, elsewhere = own / "shown", own / "elsewhere"
    for path in (shown / "hidden", shown / "half" / "inner", elsewhere):
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
    files["the repository"] = Path(autograder.__file__).parents[1] / "pyproject.toml"
    wall = WallSettings(
        read_only=(shown,),
        hidden=(shown / "hidden", shown / "half" / "answers.txt"),
        disk_mb=DISK_MB,
        file_mb=FILE_MB,
        n_processes=N_PROCESSES,
    )
    os.environ["SECRET"] = SECRET
    daemon = socket.socket(socket.AF_UNIX)
    daemon.bind(str(own / "socket"))
    daemon.listen()
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0{own}")
    abstract.listen()
    student = folder / "student"
    with Zygote(ChildSettings(student, ("labkit.checks",), wall, rung)) as zygote:
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
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
