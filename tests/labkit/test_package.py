"""The package as a whole: light to import, complete in its wheel, usable without a network."""

import io
import os
import subprocess
import sys
import zipfile

import pytest

import labkit
from autograder import places
from autograder.builder import source
from autograder.builder.editions import edition_of
from autograder.places import REPOSITORY
from labkit import cli

HEAVY = ("torch", "transformers", "matplotlib", "networkx", "httpx")


def run(code, *args, **environment):
    """Run Python code in a fresh process; returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=True,
        env=os.environ | environment,
    )  # fmt: skip
    return done.stdout


def test_importing_labkit_loads_nothing_heavy():
    names = "bridge.wire, zoo, models.prompts, models.facts, measuring.profiles, cli"
    imports = "; ".join(f"import labkit.{name}" for name in names.split(", "))
    loaded = run(f"import sys; {imports}; print(*sys.modules)").split()
    assert "labkit.zoo" in loaded
    assert not set(HEAVY) & set(loaded)


def test_modules_are_there_without_a_further_import():
    code = "import labkit; print(labkit.zoo.__name__, hasattr(labkit, 'nothing'))"
    assert run(code).split() == ["labkit.zoo", "False"]
    with pytest.raises(AttributeError, match="module 'labkit' has no attribute 'nothing'"):
        labkit.nothing  # noqa: B018


def test_the_wheels_alone_load_the_pair_and_write(tmp_path):
    for wheel in edition_of(source.find_lab("06")).wheels:
        with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
            archive.extractall(tmp_path / "site")
    code = (
        "import sys, labkit; from labkit import kit; assert sys.argv[1] in labkit.__file__;"
        "pair = kit.load_pair('tiny', profile='cpu'); print(pair.target);"
        "fed = pair.target.tokenizer(kit.prompts()[0].text, return_tensors='pt');"
        "made = pair.target.model.generate(**fed, max_new_tokens=8, do_sample=False);"
        "print('---', made.shape[1] - fed['input_ids'].shape[1])"
    )
    site = str(tmp_path / "site")
    printed = run(code, site, PYTHONPATH=site, PYTHONSAFEPATH="1", HF_HUB_OFFLINE="1")
    assert printed.startswith("tiny-target: 15,574,336 parameters, shipped weights")
    assert printed.split("--- ")[1].strip() == "8"


def test_an_installed_grader_says_that_it_works_in_its_repository(monkeypatch, tmp_path):
    monkeypatch.setattr(places, "SOURCES", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="autograder works in its repository: clone it"):
        source.find_lab("04")


def test_every_command_is_in_the_readme(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = capsys.readouterr().out
    for command in ("generate", "models", "hardware", "measure", "figures", "tables"):
        assert command in shown and f"labkit {command}" in readme


def test_models_and_machine_are_described(capsys):
    assert cli.main(["models"]) == 0
    assert cli.main(["hardware"]) == 0
    printed = capsys.readouterr().out
    assert "tiny-target" in printed and "cores" in printed


def test_a_prompt_of_ones_own_is_continued_alike_under_one_seed(capsys):
    command = ["generate", "tiny-draft", "--prompt", "Once", "--max-new-tokens", "6"]
    texts = []
    for seed in ("1", "1", "2"):
        cli.main([*command, "--temperature", "1", "--seed", seed])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["generate", "tiny-traget"], "did you mean tiny-target"),
        (["generate", "--source", "poems"], "no prompts of source 'poems'"),
        (["generate", "distilgpt2", "--prompt", "x"], "distilgpt2 has random weights here"),
    ],
)
def test_a_mistake_is_one_sentence(arguments, message, capsys):
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err
