"""See that there is what the browser tests need: Chromium, and a font with Chinese characters.

As root it installs Debian's. Without root, and without one on the machine, it tries Playwright's
Chromium. What is still missing then is one line that says what to do.
"""

import os
import shutil
import subprocess
import sys

APT = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends"]
FONTS = ["fontconfig", "fonts-dejavu-core", "fonts-droid-fallback"]


def missing() -> list[str]:
    """The Debian packages that the machine lacks."""
    listed = shutil.which("fc-list") and subprocess.run(
        ["fc-list", ":lang=zh-tw"], check=False, capture_output=True
    )
    fonts = [] if listed and listed.stdout else FONTS
    return [*fonts, *([] if shutil.which("chromium") else ["chromium"])]


def main() -> None:
    if missing() and os.getuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "--quiet"], check=False)
        subprocess.run([*APT, *missing()], check=False)
    packages = missing()
    if "chromium" in packages:
        download = [sys.executable, "-m", "playwright", "install", "chromium"]
        if not subprocess.run(download, check=False, capture_output=True).returncode:
            packages.remove("chromium")
    if packages:
        needed = " ".join(packages)
        print(f"The browser tests need: sudo apt-get install {needed}", file=sys.stderr)


if __name__ == "__main__":
    main()
