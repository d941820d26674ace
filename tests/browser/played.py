"""The versions in a student's venv of what labkit requires; a plain script, which make calls.

    python tests/browser/played.py VENV [FILE]

Prints a line for each library. With a file, they take the place of what stands below its first
line, a comment.
"""

import argparse
import json
import subprocess
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from autograder.builder.source import read_project


def main(venv: str, file: str = "") -> None:
    listed = [f"{venv}/bin/python", "-m", "pip", "list", "--format=json"]
    installed = json.loads(subprocess.run(listed, capture_output=True, check=True).stdout)
    versions = {each["name"].lower(): Version(each["version"]).public for each in installed}
    names = [Requirement(line).name for line in read_project()["dependencies"]]
    lines = [f"{name}=={versions[name]}\n" for name in names]
    print("".join(lines), end="")
    if file:
        comment = Path(file).read_text(encoding="utf-8").partition("\n")[0]
        Path(file).write_text("".join([f"{comment}\n", *lines]), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("venv", help="the environment whose versions are printed")
    parser.add_argument("file", nargs="?", default="", help="the file that gets them too")
    main(**vars(parser.parse_args()))
