"""A browser, and Jupyter servers to point it at."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from lab_pages import LabServer, write_settings
from playwright.sync_api import sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
START_S = 90


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots():
    """Where pictures for people to look at go."""
    folder = Path("build/browser").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def jupyter():
    """`with jupyter(folder, **environment) as address`: JupyterLab on a folder."""
    return serve


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory):
    """One JupyterLab for the notebooks of all labs."""
    folder = tmp_path_factory.mktemp("jupyterlab")
    write_settings(folder / "config")
    notebooks = folder / "notebooks"
    notebooks.mkdir()
    environment = {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "OMP_NUM_THREADS": "1",  # threads that wait for each other on busy cores take minutes
    }
    with serve(notebooks, **environment) as address:
        yield LabServer(notebooks, address)


@contextmanager
def serve(folder, **environment):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    options = ["--no-browser", "--allow-root", "--expose-app-in-browser"]
    where = [f"--port={port}", "--IdentityProvider.token="]
    command = [sys.executable, "-m", "jupyterlab", *options, *where]
    process = subprocess.Popen(
        command, env=os.environ | {"PATH": path} | environment, cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def wait_for(address):
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        with suppress(OSError):
            urllib.request.urlopen(f"{address}/api", timeout=2).close()
            return
        time.sleep(0.2)
    pytest.fail("JupyterLab did not start")
