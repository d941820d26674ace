"""Notebooks of the labs in JupyterLab: where they lie, how they are run, saved and pictured."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from autograder.builder.wheel import write_folder

SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},  # keep all cells attached
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
RUN_TIMEOUT_MS = 240_000  # a lab takes seconds on a quiet machine, and not all are
RUN_ALL = """async () => {
    const context = window.jupyterapp.shell.currentWidget.sessionContext;
    await context.ready;
    await context.session.kernel.info;
    window.jupyterapp.commands.execute('notebook:run-all-cells');
}"""
ERRORS = """() => {
    const notebook = window.jupyterapp.shell.currentWidget.content;  // pages show errors as stderr
    const outputs = [...notebook.model.cells].flatMap(
        cell => cell.type === 'code' ? cell.outputs.toJSON() : []);
    return outputs.filter(output => output.output_type === 'error').map(
        output => `${output.ename}: ${output.evalue}`);
}"""
GO_TO_THE_LAST = """() => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.length - 1;
    notebook.activate();
}"""
ALL_RAN = rf"""() => {{
    const ofCells = '.jp-CodeCell .jp-InputPrompt:not(.jp-Placeholder-prompt)';  // folded ones too
    const prompts = [...document.querySelectorAll(ofCells)];
    const texts = prompts.map(prompt => prompt.textContent);
    const failed = ({ERRORS})().length > 0;
    return failed || (texts.length > 0 && texts.every(text => /\[\d+\]/.test(text)));
}}"""

TOO_WIDE = """ours => [...document.querySelectorAll(ours)].flatMap(root => {
    const cell = root.closest('.jp-Cell').getBoundingClientRect();
    const isMeantTo = node => getComputedStyle(node).overflowX === 'auto' &&
        !node.classList.contains('widget-box');  // a box of controls has to wrap
    const scrolls = node => node !== root && (isMeantTo(node) || scrolls(node.parentElement));
    return [root, ...root.querySelectorAll('*')]
        .filter(node => node === root || !scrolls(node.parentElement))
        .filter(node => node.getBoundingClientRect().right > cell.right + 1)
        .map(node => node.outerHTML.slice(0, 200));
})"""


def beyond_their_cells(page, selector):
    """What reaches beyond the right edge of its cell, of these elements and of all in them."""
    return page.evaluate(TOO_WIDE, selector)


def write_settings(folder):
    """Settings of JupyterLab, into its folder of configuration."""
    (folder / "labconfig").mkdir(parents=True)
    path = folder / "labconfig" / "default_setting_overrides.json"
    path.write_text(json.dumps(SETTINGS))


@dataclass(frozen=True)
class LabServer:
    """A running JupyterLab; beside each notebook lies the labkit of the lab's students."""

    folder: Path
    address: str

    def put(self, lab, notebook, name, folder):
        """Write a notebook of this lab into a folder of its own; returns the path."""
        folder = self.folder / folder
        if not folder.exists():
            write_folder(lab, folder)
        return self.put_alone(notebook, f"{folder.name}/{name}")

    def put_alone(self, notebook, name):
        """Write a notebook that runs on the kit as it is; returns the path."""
        path = self.folder / f"{name}.ipynb"
        path.write_text(json.dumps(notebook))
        return path

    def run_all(self, page, path, timeout_ms=RUN_TIMEOUT_MS):
        """Open a notebook, run all its cells, and wait until none is running."""
        page.goto(f"{self.address}/lab/tree/{path.relative_to(self.folder).as_posix()}?reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        page.evaluate(RUN_ALL)
        page.wait_for_function(ALL_RAN, timeout=timeout_ms)
        page.wait_for_timeout(1000)


def go_to_last_cell(page):
    """Where "Run all" leaves the reader, who has touched nothing else."""
    page.evaluate(GO_TO_THE_LAST)


def tab_to(page, part):
    """Go there by the key Tab alone."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("part => document.activeElement.matches(part)", part):
            return
    pytest.fail(f"Tab does not reach {part}")


def errors_on(page):
    """The errors among the outputs of a notebook, as "class: message"."""
    return page.evaluate(ERRORS)


def close(page):
    """Close a page, and end the kernel of its notebook."""
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.close()


def picture(page, shoot, name, width=1200):
    """The whole notebook in one picture."""
    panel = page.locator(".jp-WindowedPanel-outer").first
    height = panel.evaluate("panel => panel.scrollHeight")
    page.set_viewport_size({"width": width, "height": min(height + 200, 16_000)})
    page.wait_for_timeout(500)
    panel.evaluate("panel => panel.scrollTo(0, 0)")
    page.wait_for_timeout(500)
    shoot(page, name)
    page.set_viewport_size({"width": width, "height": 900})
