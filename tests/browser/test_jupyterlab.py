"""Both labs in JupyterLab, in a real browser: every cell runs, figures and widgets are there.

The solved editions run against the student's labkit, in which this lab's answers are blanked, so
nothing a student needs can depend on them. Screenshots go to build/browser.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from autograder.builder.source import find_lab, read_labs
from autograder.builder.wheel import write_folder
from autograder.cheats import solved_notebook

SCREENSHOTS = Path("build/browser")
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # keep all cells attached
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
RUN_TIMEOUT_S = 180


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """JupyterLab on the solved notebooks; gives its address."""
    folder = tmp_path_factory.mktemp("lab")
    settings = folder / "config" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "default_setting_overrides.json").write_text(json.dumps(SETTINGS))
    notebooks = folder / "notebooks"
    notebooks.mkdir()
    for lab in read_labs():
        (notebooks / f"{lab.name}.ipynb").write_text(json.dumps(solved_notebook(lab)))
    write_folder(read_labs()[0], folder / "student")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = os.environ | {
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": str(folder / "student"),
        "PYTHONSAFEPATH": "1",
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
               "--IdentityProvider.token=", f"--notebook-dir={notebooks}"]  # fmt: skip
    process = subprocess.Popen(
        command, env=env, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def wait_for(address):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(OSError):
            urllib.request.urlopen(f"{address}/api", timeout=2).close()
            return
        time.sleep(0.2)
    pytest.fail("JupyterLab did not start")


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


def run_all(page, address, lab_name):
    """Open a notebook, run all cells, wait until none is running."""
    page.goto(f"{address}/lab/tree/{lab_name}.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_selector("[data-status=idle]", state="attached", timeout=60_000)
    page.click("text=Run >> nth=0")
    page.click("text=Run All Cells >> nth=0")
    page.wait_for_function(
        """() => {
            const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')];
            const texts = prompts.map(prompt => prompt.textContent);
            return texts.length > 0 && texts.every(text => /\\[\\d+\\]/.test(text));
        }""",
        timeout=RUN_TIMEOUT_S * 1000,
    )


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_every_cell_runs_and_figures_and_checks_appear(server, browser, lab):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    run_all(page, server, lab.name)
    page.wait_for_timeout(1000)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    height = page.locator(".jp-WindowedPanel-outer").first.evaluate("panel => panel.scrollHeight")
    page.set_viewport_size({"width": 1200, "height": min(height + 200, 16_000)})
    page.wait_for_timeout(500)
    page.screenshot(path=SCREENSHOTS / f"{lab.name}.png")
    errors = page.locator(".jp-OutputArea-output[data-mime-type*=error]").all_text_contents()
    assert errors == []
    assert page.locator(".jp-OutputArea img").count() >= 1
    verdicts = [text for text in page.locator(".jp-OutputArea").all_text_contents()
                if "points on the open cases" in text]  # fmt: skip
    assert len(verdicts) == len(lab.marked)
    for text in verdicts:
        earned, full = re.search(r"([\d.]+) of ([\d.]+) points", text).groups()
        assert earned == full, text
    page.close()


def test_the_vram_calculator_answers_to_its_sliders(server, browser):
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    run_all(page, server, find_lab("memory").name)
    widget = page.locator(".jupyter-widgets.widget-container").first
    widget.scroll_into_view_if_needed()
    before = widget.inner_html()
    slider = widget.locator(".noUi-handle").first
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(2000)
    assert widget.inner_html() != before
    page.screenshot(path=SCREENSHOTS / "calculator.png")
    page.close()
