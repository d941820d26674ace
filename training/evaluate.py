"""Evaluate a model on the shared tasks: `python -m training.evaluate MODEL`.

If it is stopped, the same command goes on from there.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from autograder.judge_model import judge_of
from autograder.judge_model.client import JudgeClient, JudgeError
from autograder.judge_model.cost import Price
from labkit.measuring.machine import use_one_thread
from labkit.models.tiny import KIT_MODELS
from training.tasks.answering import answer_items
from training.tasks.generate import BATCH_SIZE, MAX_NEW_TOKENS, Candidate, local
from training.tasks.items import SPLIT_SIZES, TASKS, Item, items
from training.tasks.judging import estimated, judge_answers, waiting
from training.tasks.log import Log, Row
from training.tasks.summary import TaskSummary, summarise, table

MAX_USD = 5.0


class TooExpensive(ValueError):
    """The estimate for judging is above the limit; the judge was asked nothing."""


def evaluate(
    candidate: Candidate,
    tasks: Sequence[str] = TASKS,
    split: str = "dev-test",
    *,
    out: Path,
    seed: int = 0,
    n: int | None = None,
    open_book: bool = False,
    judge: JudgeClient | None = None,
    price: Price | None = None,
    max_usd: float = MAX_USD,
    echo: Callable[[str], None] = print,
    show_progress: bool = True,
) -> list[TaskSummary]:
    """Answer, score and sum up the items of some tasks; what `out` holds already is kept.

    out: a folder; answers.jsonl in it is the record. open_book: show the handbook of the invented
    world with each choice question. judge: for the open answers; without one they stay unscored.
    price, max_usd: what the judge costs, and what it may cost; `echo` gets the estimate before it
    is asked anything, and the table at the end.
    Raises: TooExpensive before the first question; JudgeError. What was done is then recorded.
    """
    log = Log(out / "answers.jsonl")
    chosen = {task: items(task, split, seed, n) for task in dict.fromkeys(tasks)}
    answered = {
        task: answer_items(
            candidate, chosen[task], log, open_book=open_book, show_progress=show_progress
        )
        for task in chosen
    }
    try:
        if judge and "open" in answered:
            _judge(answered["open"], judge, log, price, max_usd, echo, show_progress)
    finally:
        summaries = [summarise(task, _newest(rows, log)) for task, rows in answered.items()]
        echo(table(summaries))
        about = {"split": split, "seed": seed, "open_book": open_book}
        _write_summary(out / "summary.json", candidate, about, judge, price, summaries)
    return summaries


def stored(log: Log, model: str) -> Candidate:
    """The model of that name that was last evaluated into a log, as far as its answers are there.

    Raises: ValueError if the log holds no answer of it.
    """
    fingerprint = log.newest_fingerprint(model)
    if fingerprint is None:
        raise ValueError(f"{log.path} holds no answer of {model}: run once without --stored")

    def answer(task: str, prompts: Sequence[str]) -> list[str]:
        raise ValueError(f"{log.path} lacks answers to {task}: run once without --stored")

    return Candidate(model, fingerprint, answer)


def _judge(
    answered: Sequence[tuple[Item, Row]],
    judge: JudgeClient,
    log: Log,
    price: Price | None,
    max_usd: float,
    echo: Callable[[str], None],
    show_progress: bool,
) -> None:
    todo = waiting(answered, judge.model)
    if not todo:
        return
    cost = estimated(todo, price)
    echo(f"{judge.model}: {cost}")
    if cost.usd is not None and cost.usd > max_usd:
        raise TooExpensive(
            f"the estimate of ${cost.usd:.2f} is above the limit of ${max_usd:g}: raise "
            "--max-cost, take a cheaper judge, or fewer items with --n"
        )
    judge_answers(todo, judge, log, price=price, max_usd=max_usd, show_progress=show_progress)


def _newest(answered: Sequence[tuple[Item, Row]], log: Log) -> list[Row]:
    return [log.find(row.id, row.fingerprint, row.prompt_hash) or row for _, row in answered]


def _write_summary(
    path: Path,
    candidate: Candidate,
    about: Mapping[str, Any],
    judge: JudgeClient | None,
    price: Price | None,
    summaries: Sequence[TaskSummary],
) -> None:
    """Write the summary; a reader never finds half of it."""
    record: dict[str, Any] = {
        "model": candidate.name,
        "fingerprint": candidate.fingerprint,
        "labkit": version("labkit"),
        **about,
        "tasks": {each.task: asdict(each) for each in summaries},
    }
    if judge:
        record["judging"] = {
            "model": judge.model,
            "base_url": judge.base_url,
            "body": judge.body,
            "n_calls": judge.n_calls,
            "input_tokens": judge.input_tokens,
            "output_tokens": judge.output_tokens,
            "usd": price.of(judge.input_tokens, judge.output_tokens) if price else None,
        }
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    add = parser.add_argument
    add(
        "model",
        nargs="?",
        default="tiny-target",
        help="a model of the kit or of the hub, or a folder",
    )
    add(
        "--tasks",
        default=",".join(TASKS),
        help="tasks with commas between them; %(default)s if not given",
    )
    add("--split", default="dev-test", choices=SPLIT_SIZES, help="%(default)s if not given")
    add(
        "--seed",
        type=int,
        default=0,
        help="seed of the items; choose your own for the hidden split",
    )
    add("--n", type=int, help="only the first N items of each task")
    add("--out", type=Path, help="folder of the record; evaluations/MODEL if not given")
    add("--open-book", action="store_true", help="show the world's handbook with choice questions")
    add("--stored", action="store_true", help="load no model: score and judge what --out holds")
    add(
        "--batch-size",
        type=int,
        default=BATCH_SIZE,
        help="answers at the same time; %(default)s if not given",
    )
    add("--max-new-tokens", type=int, help="tokens of one answer; depends on the task if not given")
    add(
        "--weights",
        default="auto",
        choices=("auto", "hub"),
        help="hub: download the model if it is not here",
    )
    add("--device", help="cpu, cuda or cuda:0; the GPU, if there is one, if not given")
    add("--dtype", help="float32, float16 or bfloat16; depends on the device if not given")
    add = parser.add_argument_group("judging the open answers").add_argument
    add("--judge", metavar="URL", help="an OpenAI-compatible address, such as .../v1")
    add("--judge-model", metavar="NAME", help="name of the model at that address")
    add("--judge-key-env", metavar="VARIABLE", help="environment variable that holds the key")
    add(
        "--judge-price",
        nargs=2,
        type=float,
        metavar=("IN", "OUT"),
        help="dollars per million tokens",
    )
    add(
        "--judge-body",
        default="{}",
        metavar="JSON",
        help='more fields for each request, such as {"temperature": 0}',
    )
    add(
        "--judge-timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="longest wait for a part of a reply; a reply may take ten times that",
    )
    add(
        "--max-cost",
        type=float,
        metavar="USD",
        help=f"most that judging may cost; {MAX_USD:g} if not given",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 1 if the judge was unclear, 2 if it cannot go on."""
    from labkit.zoo import ModelError

    args = _parser().parse_args(argv)
    if args.model in KIT_MODELS:
        use_one_thread()
    try:
        judge, price = _judge_of(args)  # first, so that a mistake shows before the long part
        out = args.out or Path(
            "evaluations", re.sub(r"[^\w.-]+", "_", args.model).strip("._") or "model"
        )
        with judge or nullcontext():
            summaries = evaluate(
                _candidate_of(args, out),
                [task.strip() for task in args.tasks.split(",")],
                args.split,
                out=out,
                seed=args.seed,
                n=args.n,
                open_book=args.open_book,
                judge=judge,
                price=price,
                max_usd=MAX_USD if args.max_cost is None else args.max_cost,
            )
    except KeyboardInterrupt:
        print("\nstopped; the same command continues from here", file=sys.stderr)
        return 130
    except (ValueError, OSError, JudgeError, ModelError) as error:
        print(f"training.evaluate: {error}", file=sys.stderr)
        return 2
    return int(any(each.n_unclear for each in summaries))


def _candidate_of(args: argparse.Namespace, out: Path) -> Candidate:
    if args.stored:
        return stored(Log(out / "answers.jsonl"), args.model)
    from labkit.zoo import load

    if args.batch_size < 1 or (args.max_new_tokens or 1) < 1:
        raise ValueError("--batch-size and --max-new-tokens must be 1 or more")
    limits = {task: args.max_new_tokens or n for task, n in MAX_NEW_TOKENS.items()}
    loaded = load(args.model, args.weights, device=args.device, dtype=args.dtype)
    return local(loaded, args.batch_size, limits)


def _judge_of(args: argparse.Namespace) -> tuple[JudgeClient | None, Price | None]:
    if not args.judge:
        return None, None
    if not args.judge_model:
        raise ValueError("--judge needs --judge-model too, the model's name at that endpoint")
    try:
        body = json.loads(args.judge_body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise ValueError(f"--judge-body needs a JSON object, got {args.judge_body!r}")
    judge, price = judge_of(
        args.judge,
        args.judge_model,
        args.judge_key_env,
        args.judge_price,
        timeout_s=args.judge_timeout,
        body=body,
    )
    if args.max_cost is not None and price is None:
        raise ValueError("--max-cost needs a price: give --judge-price IN OUT")
    return judge, price


if __name__ == "__main__":
    sys.exit(main())
