"""The command line of the kit: show models and the machine, generate text, measure."""

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from labkit.measuring.machine import use_one_thread
from labkit.models.tiny import KIT_MODELS

MODULES = (  # commands that live elsewhere: each module has `add_arguments` and `main`
    ("measure", "labkit.labs.measure", "run the labs' experiments and record them"),
    ("tables", "labkit.labs.tables", "write the homework's tables from records"),
    ("show", "labkit.labs.show", "open a player or a figure of the labs in the browser"),
    ("report", "labkit.checks.printed.report", "write a notebook's answers as a page to print"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line and call; returns the exit status."""
    parser = argparse.ArgumentParser(prog="labkit", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, "models", "the models of the labs, and how each would load here", _models)
    _add(commands, "hardware", "this machine beside the table of GPUs", _hardware)
    generate = _add(commands, "generate", "continue the prompts of the kit", _generate)
    generate.add_argument("model", nargs="?", default="tiny-target")
    generate.add_argument("--prompt", help="a text of your own instead of the twenty prompts")
    generate.add_argument("--source", help="only the prompts of one source")
    generate.add_argument("--max-new-tokens", type=int, default=512)
    generate.add_argument("--temperature", type=float, default=0.0, help="0 is greedy")
    generate.add_argument("--seed", type=int, default=0)
    for name, module, summary in MODULES:
        command = import_module(module)
        command.add_arguments(_add(commands, name, summary, command.main))
    figures = _add(commands, "figures", "draw the labs' figures from records", _figures)
    figures.add_argument("records", type=Path, help="a record, or a folder of them: data/results")
    figures.add_argument("out", type=Path, help="the folder that gets the figures")
    args = parser.parse_args(argv)
    try:
        if getattr(args, "model", None) in KIT_MODELS:
            use_one_thread()
        return args.run(args) or 0
    except BrokenPipeError:  # as in `labkit models | head`
        sys.stdout = None
        return 0
    except (ValueError, OSError, RuntimeError) as error:
        print(f"labkit: {error}", file=sys.stderr)
        return 2


def _add(commands, name: str, summary: str, run: Callable) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=summary)
    parser.set_defaults(run=run)
    return parser


def _figures(args: argparse.Namespace) -> None:
    from labkit.labs.each import of_each_lab
    from labkit.measuring.plots import save
    from labkit.measuring.records import read_records

    records, n_drawn = read_records(args.records), 0
    for figures_of in of_each_lab("figures", "figures_of"):
        for path in save(figures_of(records), args.out):
            print(path)
            n_drawn += 1
    if not n_drawn:
        raise ValueError(f"no record of {args.records} has an experiment that has a figure")


def _models(args: argparse.Namespace) -> None:
    from labkit import zoo

    print(zoo.describe())


def _hardware(args: argparse.Namespace) -> None:
    from labkit.measuring.machine import hardware

    print(hardware.describe())


def _generate(args: argparse.Namespace) -> None:
    import torch

    from labkit import zoo
    from labkit.models.prompts import Prompt, prompts

    loaded = zoo.load(args.model)
    print(loaded)
    if loaded.tokenizer is None:
        raise ValueError(f"{args.model} has random weights here, and so no text to give")
    asked = prompts(args.source)
    if args.prompt is not None:
        asked = [Prompt("prompt", "own", args.prompt)]
    how = {"do_sample": True, "temperature": args.temperature, "top_k": 0, "top_p": 1.0}
    torch.manual_seed(args.seed)
    for prompt in asked:
        tokens = loaded.tokenizer(prompt.text, return_tensors="pt").to(loaded.device)
        if not tokens["input_ids"].numel():
            raise ValueError("the prompt is empty: a model needs at least one token to go on from")
        made = loaded.model.generate(
            **tokens,
            max_new_tokens=args.max_new_tokens,
            **(how if args.temperature else {"do_sample": False}),
        )[0, tokens["input_ids"].shape[1] :]
        text = loaded.tokenizer.decode(made, skip_special_tokens=True)
        print(f"\n[{prompt.id}] {prompt.text}\n--- {len(made)} tokens ---\n{text.lstrip()}")
