"""The corpus of attacks and accidents: one of every kind, and what a grading of them leaves behind.

What each is worth, `make demo` compares. Here the worst of lab 1 are graded
beside two neighbours, and the machine is looked at before and after.
"""

import re
import sqlite3
import tempfile
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
from nbconvert import HTMLExporter

from autograder.builder.source import find_lab
from autograder.grading import pool
from autograder.grading.grade import GradingSettings
from autograder.judging.jobs import Limits
from autograder.practice import Sample
from autograder.practice.edits import add
from tests.sample_class import sample_class, samples_of
from tests.sample_class.demo import grade_class, is_as_expected

LAB = "01_memory"
RUN = GradingSettings(jobs=1, seed=20_261_122, limits=Limits(cell_s=2, check_s=5, cells_s=20))
UIDS = {pool.uid_of(number) for number in range(RUN.jobs)}
CANARIES = ("canary-in-the-environment", "canary-of-the-neighbour", str(RUN.seed))
KINDS = {
    "patched asserts": ["x51"],
    "patched torch, numpy, builtins, IPython": ["x03", "x04"],
    "__eq__": ["x01", "x02", "x22", "x30", "x35", "x37", "x40"],
    "__class__": ["x50"],
    "objects that answer everything": ["x57"],
    "import hooks and sys.modules": ["x52"],
    "gc and frame walking": ["x07", "x39"],
    "writing to the result channel": ["x19", "x21", "x53"],
    "faked metadata": ["x08", "x09"],
    "faked traces and logs": ["x60", "x61", "x62"],
    "faked measurements and records": [
        "x23",
        "x25",
        "x26",
        "x27",
        "x28",
        "x29",
        "x92",
        "x63",
        "x69",
        "x93",
        "x94",
        "x31",
        "x33",
        "x34",
    ],
    "patched encoding of values": ["x10", "x98"],
    "a lookup of public cases": ["x55"],
    "detecting the grader": ["x54"],
    "several guesses for one answer": ["x56", "x64", "x65", "x66", "x67", "x95", "x96"],
    "later cells that change answers": ["x58", "x59", "x77", "x78"],
    "stolen hidden cases and judges": ["x05", "x06", "x24", "x32", "x36", "x38", "x74"],
    "stolen keys": ["x41"],
    "other submissions": ["x71", "p06", "p07"],
    "the gradebook": ["x72"],
    "environment and /proc": ["x11", "x73"],
    "messages to the next student": ["x75", "x76"],
    "exits": ["x12", "x13", "x83"],
    "signals": ["x14", "x82"],
    "endless loops": ["leo", "lou"],
    "hangs in C, deaf loops": ["x80", "x15"],
    "crashes": ["x81", "x86"],
    "fork bombs": ["x17"],
    "memory bombs": ["x16"],
    "disk and inode filling": ["x18", "x87"],
    "output floods": ["x88", "mia"],
    "deep recursion": ["x86", "ann"],
    "huge integers and giant tensors": ["x90", "x97"],
    "threads and daemons left behind": ["x89", "lea"],
    "used-up limits": ["x85", "ben"],
    "a broken interpreter": ["x84"],
    "notebook dialects": ["erin", "d01", "d02", "d03", "d04", "d05", "d06", "jo"],
    "scripts": ["jan", "d07", "d08"],
    "lost or odd metadata and cells": ["emil", "d12", "fritz", "karl", "kim", "moritz", "greta"],
    "encodings": ["jill", "d09", "d10"],
    "magics": ["d11", "nora"],
    "file and student names": [
        "hans",
        "jose\u0301",
        "李小龙 😀",
        "x?gnp.exe",
        "two?lines",
        "-rf",
        "%s{0}{{7*7}}",
        "p20",
    ],
    "homoglyphs": ["\u0430da", "jos\xe9"],
    "symlinks and pipes": ["p06", "p07", "p08"],
    "nested zips": ["p01", "p02"],
    "zip bombs": ["p04"],
    "path traversal in zips": ["p03"],
    "damaged zips": ["p05"],
    "two notebooks": ["p09", "p10"],
    "the wrong lab": ["p12"],
    "empty and foreign files": ["ilse", "p13", "p14", "p15"],
    "invalid JSON": ["ida", "x20"],
    "too many cells, too large, too slow to read": ["p16", "p17", "p18", "p19"],
    "answers elsewhere": ["p11"],
    "markup in outputs": ["<img src=x onerror=alert(1)>"],
    "markup in answers": ["'\"><script>alert(1)<"],
    "formulas and commands": ["=cmd()|'x'!A1", "@SUM(1+1)", "O'Brien; DROP TABLE student;--"],
}
# They steal, leave something behind, or write where they must not; then others.
WORST = tuple("x17 x18 x19 x72 x73 x75 x76 x83 x89 p03 p06 two?lines".split())
OTHERS = tuple("x04 x52 x53 x81 x85 x87 x88 p04 p07 p08 p12 p13".split())
MARKUP = ("<img src=x onerror=alert(1)>", "'\"><script>alert(1)<", "=cmd()|'x'!A1")
CLASS = sample_class()
NEIGHBOURS = [  # the first and the last in order of name
    Sample("!", LAB, "perfect", add(f"# {CANARIES[1]}")),
    Sample("zora", LAB, "perfect", add("# after all others")),
]


def host(home):
    """What a submission could change outside its own process and folder."""
    kinds = ("*/left_for_a_friend.py", "*/file-99", "*/big")
    shared = [path for path in map(Path, ("/tmp", "/var/tmp", "/dev/shm", "/run")) if path.exists()]
    return {
        "processes": [p.name for p in Path("/proc").glob("[0-9]*") if _owner(p) in UIDS],
        "files": [path for place in shared for kind in kinds for path in place.glob(kind)],
        "their files": [p for place in shared for p in place.iterdir() if _owner(p) in UIDS],
        "sockets": re.findall(r"@left.*", Path("/proc/net/unix").read_text()),
        "mounts": re.findall(r"\S*(?:labkit|autograder-)\S*", Path("/proc/mounts").read_text()),
        "home": sorted(home.rglob("*")),
    }


def settled(home):
    """The host once the slots, which end on their own, have ended."""
    end = time.monotonic() + 30
    while any(home.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    return host(home)


def _owner(path):
    try:
        return path.lstat().st_uid
    except OSError:
        return None


@pytest.fixture(
    scope="module",
    params=[WORST, pytest.param(WORST + OTHERS, marks=pytest.mark.slow)],
    ids=["worst", "all"],
)
def samples(request):
    return samples_of(LAB, request.param + MARKUP) + NEIGHBOURS


@pytest.fixture(scope="module")
def graded(samples, tmp_path_factory):
    """The results, the output folder, and the host before and after."""
    home, out = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("out") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", None)
        folders = {"HOME": home, "TMPDIR": home, "MPLCONFIGDIR": tmp_path_factory.mktemp("plots")}
        for name, value in (folders | {"CANARY": CANARIES[0]}).items():
            patch.setenv(name, str(value))
        before = host(home)
        results = grade_class(samples, out, RUN)
        after = settled(home)
    return {student: result for (_, student), result in results.items()}, out, before, after


def shown(out, student):
    """The notebook that formgrader shows, as text."""
    return (out / "course" / "autograded" / student / LAB / f"{LAB}.ipynb").read_text()


def test_every_kind_of_attack_and_accident_has_a_submission():
    students = {sample.student for sample in CLASS}
    named = [name for names in KINDS.values() for name in names]
    assert [name for name in named if name not in students] == []
    assert len(set(named)) >= 100


def test_the_worst_get_what_they_deserve_and_the_neighbours_too(graded, samples):
    results, *_ = graded
    wrong = {
        sample.student: (result and (result.score, result.status, result.problem))
        for sample in samples
        if not is_as_expected(sample, result := results.get(sample.student))
    }
    assert wrong == {}
    assert results.keys() == {sample.student for sample in samples}


def test_the_neighbour_after_all_of_them_is_graded_as_the_one_before(graded):
    results, *_ = graded
    before, after = results["!"], results["zora"]
    assert after.checks == before.checks
    assert (after.flags, after.problem) == (before.flags, before.problem) == ([], "")


def test_the_host_is_as_it_was(graded):
    _, _, before, after = graded
    assert after == before
    assert after["processes"] == after["home"] == []


def test_the_gradebook_holds_these_marks_and_no_others(graded):
    results, out, *_ = graded
    with sqlite3.connect(out / "course" / "gradebook.db") as book:
        students = {row[0] for row in book.execute("select id from student")}
        given = book.execute("select max(auto_score), max(manual_score) from grade").fetchone()
    assert students == results.keys()
    assert given[0] <= max(cell.points for cell in find_lab(LAB).marked)
    assert given[1] is None


def test_what_is_written_stays_below_the_output_folder(graded):
    _, out, *_ = graded
    size = sum(path.lstat().st_size for path in out.rglob("*") if path.is_file())
    assert {path.name for path in out.parent.iterdir()} == {"out"}
    assert not any(path.is_symlink() for path in (out / "course").rglob("*"))
    assert size < 60 << 20


def test_thieves_have_seen_no_secret(graded, samples):
    _, out, *_ = graded
    for sample in samples[: -len(NEIGHBOURS)]:
        text = shown(out, sample.student)
        assert [canary for canary in CANARIES if canary in text] == [], sample.about


class Markup(HTMLParser):
    """Collects what would run, or load something, in a browser."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes if name.startswith("on")]
        runs = [v for n, v in attributes if n in ("href", "src") and _runs(v or "")]
        if names or runs or tag in ("iframe", "object", "embed"):
            self.found.append((tag, attributes))

    def handle_data(self, data):
        if self.lasttag == "script" and "alert" in data:
            self.found.append(("script", data))


def _runs(address):
    scheme = re.sub(r"[\s\x00-\x1f]", "", address).lower()
    return re.match(r"javascript:|vbscript:|data:(?!image/(?:png|jpeg|gif|webp);)", scheme)


def test_no_markup_of_a_student_reaches_a_page(graded, samples):
    _, out, *_ = graded
    pages = [*(out / "feedback").rglob("*.html"), out / "report.html"]
    assert len(pages) > len(samples)
    assert [page for page in pages if Markup(page.read_text()).found] == []


def test_no_markup_of_a_student_runs_in_a_graded_notebook(graded):
    _, out, *_ = graded
    for student in MARKUP:
        path = out / "course" / "autograded" / student / LAB / f"{LAB}.ipynb"
        page, _ = HTMLExporter(template_name="basic").from_filename(str(path))
        assert "alert" in page
        assert Markup(page).found == []
