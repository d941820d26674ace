"""Start the zygote: `python -s -P __main__.py`, executed by path.

Stdin is a socket to the grader. What comes first is the plan, a line of JSON.

The student's labkit must come first, before anything else of that name can be imported.
"""

import json
import socket
import sys
from pathlib import Path

if __name__ == "__main__":
    control = socket.socket(fileno=0)
    line = b""
    while not line.endswith(b"\n"):
        line += control.recv(1) or sys.exit("there is no plan")
    plan = json.loads(line)
    ours = str(Path(__file__).resolve().parents[3])
    sys.path[:0] = [plan["settings"]["student_path"], ours]
    from autograder.judging.child import zygote

    sys.path.remove(ours)
    zygote.main(plan, control)
