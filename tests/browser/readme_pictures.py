"""Draw the two pictures of README into docs/pictures: `python tests/browser/readme_pictures.py`.

One is a check that names a misconception, the other a part of the report of the practice class.
"""

import argparse
import html
import io
from pathlib import Path
from tempfile import TemporaryDirectory

from conftest import FLAGS
from install import find_chromium
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from autograder.builder.source import find_lab
from autograder.grading.grade import GradingSettings, grade
from autograder.places import REPOSITORY
from autograder.practice.classes import write_practice_class
from labkit.checks import Checker
from labkit.models.configs import ModelConfig

OUT = REPOSITORY / "docs/pictures"
WIDTH, N_COLORS = 800, 64
WRONG = """\
def kv_cache_bytes(config, n_tokens, batch_size=1, bytes_per_number=2):
    heads = config.num_attention_heads
    numbers = 2 * config.num_hidden_layers * heads * config.head_dim
    return batch_size * n_tokens * numbers * bytes_per_number
"""
CALL = 'check("kv_cache_bytes", points=2)'
CELLS = """\
<!doctype html><body style="font:15px/1.4 sans-serif;margin:0">
<style>pre {{ background: #f3f4f6; padding: .7em; border-radius: 4px; margin: 0 0 10px }}</style>
<main style="padding:12px"><pre>{}</pre><pre>{}</pre>{}<h3>.</h3></main>"""


def check_cell() -> str:
    """A wrong answer, and what its check says, as a notebook shows them."""
    names = {"ModelConfig": ModelConfig}
    exec(WRONG, names)
    report = Checker("memory", names)("kv_cache_bytes", points=2)
    return CELLS.format(html.escape(WRONG), CALL, report._repr_mimebundle_()["text/html"])


def report_page(folder: Path) -> str:
    """The address of the report of the class to practise on."""
    lab = find_lab("memory")
    submissions, roster, policy = write_practice_class(lab, folder / "class")
    grade(lab, submissions, folder / "out", GradingSettings(2, 0, policy, roster=roster))
    return (folder / "out/report.html").as_uri()


def save(page: Page, name: str, first: str, last: str) -> None:
    """A picture of the page from one element down to another, with few colours."""
    top, bottom = (page.locator(place).first.bounding_box()["y"] for place in (first, last))
    clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top}
    picture = page.screenshot(full_page=True, clip=clip)
    few = {"method": Image.Quantize.MEDIANCUT, "dither": Image.Dither.NONE}
    small = Image.open(io.BytesIO(picture)).convert("RGB").quantize(N_COLORS, **few)
    small.save(OUT / name, optimize=True)
    print(OUT / name)


def main() -> None:
    """Draw both."""
    OUT.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = chromium.new_page(viewport={"width": WIDTH, "height": 600})
        page.set_content(check_cell())
        save(page, "check.png", "main", "h3")
        page.goto(report_page(Path(folder)))
        save(page, "report.png", "text='Students by exercises'", "text='Students' >> nth=-1")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
