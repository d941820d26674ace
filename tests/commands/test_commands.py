"""Every command of the documents and of the Makefile works, at its smallest size.

`tests/commands/documented.py` finds the commands. The table `WAYS` says how to play those that a
person does not give as they stand here, and why. `make test` plays what is cheap, in any order;
`make test-long` plays all commands of each page, in the page's order.
"""

import re
import shutil
from typing import NamedTuple

import pytest
import typer
from documented import PAGES, REPOSITORY, documented
from instances import long_unless
from judge_server import judge_server, judges
from shell import ADDRESS, Shell

from autograder.cli import app

ALL = documented()
SUGGESTED = '[{"item": 1, "quote": "I do not know."}]'
AUTOGRADER = typer.main.get_command(app)
NOT_STARTED = r"\g<0> --just-print"
CHEAP = re.compile(
    r".* --just-print|make style|autograder (case|report|export|similar|integrity|forget) .*"
    r"|autograder (mark|overview) .*|labkit (models|hardware|show)"
)


class Way(NamedTuple):
    """How commands of a pattern are played.

    form: what is given instead, where it is not the command itself; why: the reason; ready: of a
    program that stays, what it prints when it is ready; stays: it is needed until the page's end.
    """

    pattern: str
    why: str
    form: str = r"\g<0>"
    ready: re.Pattern | None = None
    stays: bool = False


WAYS = (
    Way(r"make test[\w-]*( LAB=\d+)?", "these are the tests themselves", NOT_STARTED),
    Way(r"make demo", "CI gives this command before the tests", NOT_STARTED),
    Way(r"make bench( QUICK=1)?", "tests/commands/test_programs.py plays each bench", NOT_STARTED),
    Way(r"make (site|slides)", "tests/browser builds both and looks at them", NOT_STARTED),
    Way(r"python -m tests.mistakes", "tests/test_mistakes.py plays all of it", NOT_STARTED),
    Way(r"make dist", "it installs build; tests/test_distribution.py builds both", NOT_STARTED),
    Way(r"make image", "it needs Docker and the network", NOT_STARTED),
    Way(r"make clean", "it deletes the environment of the tests", NOT_STARTED),
    Way(r"make (fuzz)( SECONDS=60)?", "without the download of atheris", "python tests/fuzz 0.1"),
    Way(r"make (style|build|figures)", "as it stands"),
    Way(r"make lab|env -C out/course jupyter lab", "a server", ready=ADDRESS),
    Way(r"autograder (mark|overview) .+", "a server", ready=ADDRESS),
    Way(r"dask scheduler .+", "a grading needs it", ready=re.compile("Scheduler at"), stays=True),
    Way(r"dask worker .+", "a grading needs it", ready=re.compile("Registered to"), stays=True),
    Way(r"autograder suggest .+", "nobody answers its question", r"\g<0> --yes"),
    Way(r"autograder check 04", "lab 1 has the shortest notebook", "autograder check 01"),
    Way(r"labkit generate", "one source, few tokens",
        r"\g<0> --source graph --max-new-tokens 2"),
    Way(r"python -m training.evaluate tiny-\w+", "one item a task",
        r"\g<0> --n 1 --max-new-tokens 4"),
    Way(r"python -m training.evaluate tiny-\w+ --stored .+", "the stored items", r"\g<0> --n 1"),
    Way(r"labkit measure all (.+)", "all takes half an hour; tests play each at its smallest size",
        r"labkit measure roofline offload \1 --short"),
    Way(r"labkit show \S+", "no browser", r"\g<0> --no-open"),
    Way(r"python -m training.train \S+", "two steps instead of thousands",
        "python -m training.train pair --n-steps 2 --batch-tokens 2048 --n-sample 200 "
        "--n-workers 1"),
    Way(r"python -m training.head", "two steps, and another folder than data/",
        r"\g<0> --n-rows 4 --n-measured 1 --out head"),
    Way(r"python -m autograder.builder.pictures|PYTHONPATH=. \S+ tests/helpers/prose.py"
        r"|python3 -m venv .+/env", "as it stands"),
    Way(r"python3 -m venv --copies", "the text names no folder", r"\g<0> copied"),
    Way(r"(jupyter nbconvert --to html) --execute (.+)", "tests/notebooks run all notebooks",
        r"env -C notebooks \1 \2"),
)  # fmt: skip

# What a person fills in, or has on another disk.
FILLED = (
    (r"(\S*/bin/)(?=labkit|python)", ""),
    (r" \[[^]]*\]", ""),  # a part that may be left out: test_every_option_exists looks at it
    (r"(\w+)(\|\w+)+", r"\1"),
    (r"https://(ADDRESS|\.\.\.)/v1|\bURL\b", "{judge}"),
    (r"https://(ADDRESS|\.\.\.)", "https://course.example"),
    (r"/srv\b", "{folder}/srv"),
    (r"^jupyter lab$", "env -C out/course jupyter lab"),
    (r"\bOUT\b", "out"), (r"\bSITE\b", "site"), (r"\bEXERCISE\b", "n_params"),
    (r"(grade LAB) FOLDER\b", r"\1 class"),
    (r"(04_kv_cache) SUBMISSIONS\b", r"\1 submissions.zip"),
    (r"\bSUBMISSIONS\b", "class/submissions.zip"),
    (r"(04_kv_cache.*--exercise) NAME", r"\1 generate"),
    (r"--exercise NAME", "--exercise kv_table"),
    (r"\bLAB\b(?!=)", "01_memory"), (r"-o FILE", "-o marks-of-all.csv"),
    (r"\bNOTEBOOK\b", "notebooks/01_memory.ipynb -o page.html"),
    (r"\bFILE\.csv", "appeals.csv"), (r"exercise 03 NAME", "exercise 03 one_more"),
)  # fmt: skip


def filled(text, **places):
    """A command as a person types it, with everything filled in."""
    for pattern, words in FILLED:
        text = re.sub(pattern, words, text)
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", str(place))
    return text


def way_of(text):
    """The way to play a command; None if no rule is for it."""
    for way in WAYS:
        if re.fullmatch(way.pattern, text):
            return way
    return Way(text, "as it stands") if re.match("autograder|labkit|rm|sed|export", text) else None


def form_of(text):
    way = way_of(text)
    return re.sub(way.pattern, way.form, text, count=1) if way.form != r"\g<0>" else text


def is_mention(command):
    """Whether running text only names a command, such as `autograder grade`."""
    words = command.text.split()
    if command.is_step or len(words) > 2 + command.text.endswith("--to"):
        return False
    if words[0] == "labkit":
        return words[1] == "measure"
    named = AUTOGRADER.commands.get(words[1]) if words[0] == "autograder" else None
    needs_more = hasattr(named, "commands") or words[1] == "release"
    return needs_more or any(each.required for each in getattr(named, "params", ()))


PLAYED = [each for each in ALL if not is_mention(each)]


def plays(page, *, cheap_only):
    """What is given on a page: (the documented text, the command with its places, its way)."""
    for each in PLAYED:
        if each.page == page:
            text = filled(each.text)
            way = way_of(text)
            if way and (not cheap_only or (each.is_command and CHEAP.fullmatch(form_of(text)))):
                yield each.text, form_of(text), way


def pages():
    """(page, whether only what is cheap): `make test` plays that, `make test-long` all."""
    for page in dict.fromkeys(each.page for each in PLAYED):
        for cheap_only in (True, False):
            if any(plays(page, cheap_only=cheap_only)):
                name = f"{page}-{'cheap' if cheap_only else 'all'}"
                yield pytest.param(page, cheap_only, id=name, marks=long_unless(cheap_only))


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class to practise on, graded, as README's chapter for TAs leaves it."""
    shell = Shell(tmp_path_factory.mktemp("graded"))
    for command in (
        "autograder practice 01_memory -o class",
        "autograder grade 01_memory class/submissions.zip -o out --policy class/policy.toml "
        "--roster class/gradebook.csv",
    ):
        assert shell.run(command) == ""
    return shell.folder


@pytest.fixture
def shell(graded, tmp_path):
    """A shell in a course whose page is filled in, with a class of lab 1 that is graded."""
    shell = Shell(tmp_path)
    for name in ("class", "out"):
        shutil.copytree(graded / name, shell.folder / name)
    shutil.copytree(graded / "class", shell.folder / "submitted")
    course = shell.folder / "notebooks/course.toml"
    text = re.sub(r'= "[^"]*\[.*\]?.*"$', '= "it is known"', course.read_text(), flags=re.MULTILINE)
    course.write_text(text.replace("own = []", 'own = ["09_quantization"]'))
    appeal = "lab,exercise,student,text\n01_memory,n_params,chencarol,Why?\n"
    (shell.folder / "appeals.csv").write_text(appeal)
    shutil.copy(shell.folder / "class/gradebook.csv", shell.folder / "roster.csv")
    yield shell
    shell.close()


def with_lab_4(shell):
    """The class of lab 4, graded, where a page is about it; the roster has a column of each lab."""
    for command in (
        "autograder practice 04_kv_cache -o class4 && cp class4/submissions.zip submissions.zip",
        "sed -e '1s/$/,01_memory (7002)/' -e '2s/$/,10/' -e '3,$s/$/,/' class4/gradebook.csv "
        "> roster.csv",
        "autograder grade 04_kv_cache submissions.zip -o out --roster roster.csv",
    ):
        assert shell.run(command) == ""


@pytest.mark.parametrize(("page", "cheap_only"), [*pages()])
def test_the_commands_of_a_page_work(page, cheap_only, shell):
    commands = list(plays(page, cheap_only=cheap_only))
    if any("submissions.zip" in form and "04_kv_cache" in form for _, form, _ in commands):
        with_lab_4(shell)
    problems = {}
    with judge_server() as judge:
        judge.then = judges(lambda asked: "NO" if "YES or NO" in asked else SUGGESTED)
        for text, form, way in commands:
            form = form.replace("{judge}", judge.url).replace("{folder}", str(shell.folder))
            if way.ready:
                problem = shell.start(form, way.ready, stays=way.stays)
            else:
                problem = shell.run(form)
            if problem:
                problems[text] = problem
    assert problems == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_command_has_a_way_to_be_played(page):
    name = page.relative_to(REPOSITORY).as_posix()
    unknown = [each.text for each in PLAYED if each.page == name and not way_of(filled(each.text))]
    assert unknown == [], "say in WAYS how these are played, or take them out of the text"


def test_every_way_is_one_of_a_documented_command():
    texts = [filled(each.text) for each in PLAYED]
    assert [way.pattern for way in WAYS
            if not any(re.fullmatch(way.pattern, text) for text in texts)] == []  # fmt: skip


def test_commands_are_found_in_blocks_in_running_text_and_in_the_makefile():
    found = {(each.page, each.text) for each in ALL}
    assert {
        ("README.md", "make demo"), ("README.md", "autograder release 04"),
        ("CONTRIBUTING.md", "PYTHONPATH=. .venv/bin/python tests/helpers/prose.py"),
        ("docs/cluster.md", "autograder cluster-keys ~/.labkit-cluster"),
        ("docs/platforms.md", "jupyter nbconvert --to html --execute --allow-errors "
                              "04_kv_cache.ipynb"),
        ("Makefile", "make clean"),
    } <= found  # fmt: skip
    assert len({text for _, text in found}) > 90


@pytest.mark.parametrize(
    "text", ["make nonsense", "python -m labkit.nonsense", "jupyter nonsense", "dask nonsense"]
)
def test_a_command_that_no_way_is_for_is_unknown(text):
    assert way_of(filled(text)) is None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPOSITORY).as_posix())
def test_every_command_and_option_of_autograder_that_a_text_names_exists(page):
    name = page.relative_to(REPOSITORY).as_posix()
    texts = [each.text for each in ALL if each.page == name and each.text.startswith("autograder")]
    assert {text: missing for text in texts if (missing := missing_words(text))} == {}


@pytest.mark.parametrize(
    ("text", "missing"),
    [("autograder sing out", {"sing"}), ("autograder report OUT [--no-such]", {"--no-such"}),
     ("autograder new song", {"song"}), ("autograder new lab 09_x", set())],
)  # fmt: skip
def test_a_command_or_option_that_autograder_lacks_is_found(text, missing):
    assert missing_words(text) == missing


def missing_words(text):
    """The commands and options of a text that `autograder` does not have."""
    words = re.sub(r"[][]", " ", text).split()[1:]
    named = AUTOGRADER
    while words and (commands := getattr(named, "commands", None)):
        if words[0] not in commands:
            return {words[0]}
        named, words = commands[words[0]], words[1:]
    known = {option for each in named.params for option in (*each.opts, *each.secondary_opts)}
    return {word for word in words if re.match("--?[a-z]", word)} - known
