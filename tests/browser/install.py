"""See that there is what the browser tests need: Chromium, and a font with Chinese characters.

As root it installs Debian's headless shell, where a page takes a seventh of the processor time.
Without root it takes what the machine has, or tries Playwright's. What is still missing then is one
line that says what to do.
"""

import os
import shutil
import subprocess
import sys

APT = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends"]
SHELL = "chromium-headless-shell"
FONTS = ["fontconfig", "fonts-dejavu-core", "fonts-droid-fallback"]


def missing() -> list[str]:
    """The Debian packages that the machine lacks."""
    listed = shutil.which("fc-list") and subprocess.run(
        ["fc-list", ":lang=zh-tw"], check=False, capture_output=True
    )
    fonts = [] if listed and listed.stdout else FONTS
    return [*fonts, *([] if shutil.which(SHELL) else [SHELL])]


def find_chromium() -> str | None:
    """The machine's Chromium; None for Playwright's."""
    return shutil.which(SHELL) or shutil.which("chromium")


def main() -> None:
    if missing() and os.getuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "--quiet"], check=False)
        for package in missing():  # one by one: not every system has all of them
            subprocess.run([*APT, package], check=False)
    packages = missing()
    if SHELL in packages:
        download = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
        if find_chromium() or not subprocess.run(download, capture_output=True).returncode:
            packages.remove(SHELL)
    if packages:
        needed = " ".join(packages)
        print(f"The browser tests need: sudo apt-get install {needed}", file=sys.stderr)


if __name__ == "__main__":
    main()
