"""A browser, and Jupyter servers to point it at."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from install import find_chromium
from lab_pages import LabServer, close, write_settings
from playwright.sync_api import sync_playwright

from autograder.builder.source import find_lab
from autograder.practice import solved_notebook

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
START_S = 90


def pytest_addoption(parser):
    parser.addoption("--venv", type=Path, help="a student's venv, for as_installed.py")


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shoot(request):
    """`shoot(page, name)` keeps a picture in build/browser, with --large or --venv."""
    asked = (request.config.getoption(name, None) for name in ("--large", "--venv"))
    if not any(asked):
        return lambda *_, **__: None
    folder = Path("build/browser").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return lambda page, name, **how: page.screenshot(path=folder / name, **how)


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


@pytest.fixture(scope="session")
def lab_page(lab_server, browser):
    """Lab 1, run from top to bottom, as a student has it who made two mistakes."""
    lab = find_lab("memory")
    notebook = solved_notebook(lab)
    (answer,) = [cell for cell in notebook["cells"] if cell["source"].startswith("scaling = ")]
    (exercise,) = [cell for cell in notebook["cells"] if "def longest_sequence" in cell["source"]]
    answer["source"] = answer["source"].replace("55,", "5,", 1)
    exercise["source"] = exercise["source"].replace("return max", "return 1 + max")
    assert "5," in answer["source"] and "1 + max" in exercise["source"]
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    lab_server.run_all(page, lab_server.put(lab, notebook, lab.name, lab.name))
    yield page
    close(page)


@contextmanager
def serve(folder, python=sys.executable, **environment):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    options = ["--no-browser", "--allow-root", "--expose-app-in-browser"]
    where = [f"--port={port}", "--IdentityProvider.token="]
    command = [python, "-m", "jupyterlab", *options, *where]
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
