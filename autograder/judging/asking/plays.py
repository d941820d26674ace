"""Plays: a few lines that use an exercise as its docstring says. Questions are about their runs.

`plays.txt` has them for exercises that take more than plain numbers. Their last line is an
expression, the result. In them `<2-5>` stands for a number of the student's own, `<a|b>` for one of
several words. For functions of plain numbers, the calls that checks make are the plays.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from textwrap import indent
from time import process_time
from typing import Any

from autograder.labs import right_of
from labkit.checks.kernel import TookTooLong, time_limit
from labkit.checks.tables.calls import Call

TEXTS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
PLAYS: dict[str, list[str]] = {}  # by exercise
for _name, _, _text in (part.partition("\n") for part in TEXTS.split("=== ")[1:]):
    PLAYS.setdefault(_name, []).append(_text.strip("\n"))
CHOICE = re.compile(r"<(\d+)-(\d+)>|<([^<>|\n]+(?:\|[^<>|\n]+)+)>")
RIGHT_S = 2.0  # for all plays of an exercise with the kit's own answer
N_VARIANTS = 4  # of each text, with other numbers
# What runs a play. Notes of values that have no short form are kept as an empty dict.
STAGE = """
__notes__ = []

def __plain__(value):
    import numpy
    import torch
    if type(value) in (torch.Tensor, numpy.ndarray):
        size = value.numel() if type(value) is torch.Tensor else value.size
        return value.tolist() if size < 10 else {}
    if type(value) in (numpy.bool_, numpy.int32, numpy.int64, numpy.float32, numpy.float64):
        return value.item()
    for kind in (tuple, list):
        if isinstance(value, kind):
            return kind(map(__plain__, kind.__getitem__(value, slice(10))))
    return value if value is None or type(value) in (bool, int, float, str) else {}

def __note__(line, variable, value):
    if len(__notes__) < 200 and sum(each[:2] == (line, variable) for each in __notes__) < 4:
        __notes__.append((line, variable, __plain__(value)))
"""
PLAY = """
def play_{i}_of_code():
    import random
    import torch
    from types import SimpleNamespace
    random.seed({seed})
    torch.manual_seed({seed})
    __notes__.clear()
{lines}
    return __plain__({result}), list(__notes__)
"""
# All plays in one request; None for one that raises.
ALL = """
def plays_of_code():
    found = []
    for play in ({plays},):
        try:
            found.append(play())
        except BaseException:
            found.append(None)
    return found
"""


@dataclass(frozen=True, slots=True)
class Play:
    """Lines that are run, and the expression whose value is their result.

    given: the plain values of a call's arguments, as they are written.
    """

    lines: str
    result: str
    given: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As a page shows it."""
        return f"{self.lines}\n{self.result}" if self.lines else self.result


def staged(definition: str, plays: Sequence[Play], seed: int) -> str:
    """The definition, and a function that gives the result and the notes of each play.

    seed: of random numbers; a key that depends on it is not the same in the next process.
    """
    functions = [PLAY.format(i=i, seed=seed, lines=indent(each.lines, "    "), result=each.result)
                 for i, each in enumerate(plays)]  # fmt: skip
    every = ALL.format(plays=", ".join(f"play_{i}_of_code" for i in range(len(plays))))
    return "\n".join([definition, STAGE, *functions, every])


def results_of(topic: str, plays: Sequence[Play]) -> list[Any]:
    """What the plays give with the kit's own answers; "" where they raise, or take too long.

    The numbers in a play may come from a student's code, by a check that passes them on.
    """
    names = {"lab": import_module(f"labkit.labs.{topic}"), **vars(right_of(topic))}
    exec(staged("", plays, 1), names)
    found: list[Any] = [""] * len(plays)
    with suppress(TookTooLong), time_limit(RIGHT_S, process_time):
        for i in range(len(plays)):
            with suppress(Exception):
                found[i] = names[f"play_{i}_of_code"]()[0]
    return found


def plays_of(name: str, rng: Random) -> list[Play]:
    """The plays of an exercise, in an order and with numbers of the student's own."""
    own = PLAYS.get(name, []) * N_VARIANTS
    filled = [CHOICE.sub(lambda found: _chosen(found, rng), text) for text in own]
    rng.shuffle(filled)
    return [Play(*text.rpartition("\n")[::2]) for text in filled]


def _chosen(found: re.Match, rng: Random) -> str:
    low, high, words = found.groups()
    return rng.choice(words.split("|")) if words else str(rng.randint(int(low), int(high)))


def plays_of_calls(name: str, calls: Sequence[Call], shown: Callable, rng: Random) -> list[Play]:
    """A play for each call, and one for the same call with other numbers."""
    found = {}
    for call in calls:
        for each in (call, Call(_other(call.args, rng), _other(call.kwargs, rng))):
            given = tuple(map(shown, [*each.args, *each.kwargs.values()]))
            found[str(each)] = Play("", f"{name}{each}", given)
    plays = [*found.values()]
    rng.shuffle(plays)
    return plays


def _other(value: Any, rng: Random) -> Any:
    """The value with other numbers: a larger one for each that is at least 2."""
    if isinstance(value, dict):
        return {key: _other(each, rng) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_other(each, rng) for each in value)
    if type(value) is int and value >= 2:
        return value + rng.randint(0, 3) * 10 ** max(0, len(str(value)) - 2)
    return value
