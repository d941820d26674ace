"""Start the zygote: `python -s -P __main__.py < PLAN`, executed by path.

The student's labkit must come first, before anything else of that name can be imported.
"""

import json
import sys
from pathlib import Path

if __name__ == "__main__":
    plan = json.load(sys.stdin)
    ours = str(Path(__file__).resolve().parents[3])
    sys.path[:0] = [plan["settings"]["student_path"], ours]
    from autograder.judging.child import zygote

    sys.path.remove(ours)
    zygote.main(plan)
