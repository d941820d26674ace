"""See that there is a Chromium for the browser test: Debian's, else Playwright's own.

As root it installs Debian's; without root, and without one on the machine, it tries Playwright's
download, and if that is out of reach says in one line what to do.
"""

import os
import shutil
import subprocess
import sys

APT = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium"]


def main() -> None:
    if shutil.which("chromium"):
        return
    if os.getuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "--quiet"], check=False)
        if subprocess.run([*APT, "fonts-dejavu-core"], check=False).returncode == 0:
            return
    download = [sys.executable, "-m", "playwright", "install", "chromium"]
    if subprocess.run(download, check=False, capture_output=True).returncode:
        print("The browser test needs Chromium: sudo apt-get install chromium", file=sys.stderr)


if __name__ == "__main__":
    main()
