"""No text of a student's keeps a pattern of the grader busy: four times the text, no more time."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from time import process_time

import pytest

import autograder.intake
import autograder.judging
import labkit.checks
from autograder import markup, names
from labkit.labs.speculative.checks import answers

PACKAGES = (autograder.intake, autograder.judging, labkit.checks)
# Names of files have at most 255 characters; the child runs on the student's side of the wall.
LEFT_OUT = ("autograder.intake.collect", "autograder.judging.child")
USE = r"\b{}\.(search|match|fullmatch|finditer|findall|sub|split)\("
PIECES = (" ", "\n", "\t", "a", "1", "-", "_", "(", ")", "\\", '"', "`", "a.", "a ", "a\n", ".\n ")
N_PIECES = 320, 1_280, 5_120, 20_480
FEWEST_S = 0.1  # less than this is quick, whatever the smaller text took


def modules() -> Iterator:
    yield from (names, markup, answers)
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(LEFT_OUT):
                yield importlib.import_module(found.name)


def patterns_in(value) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from patterns_in(each)


def uses() -> dict[str, tuple[re.Pattern, str]]:
    """Each pattern of a module, and the method that the module calls; `search` if it is a list."""
    found = {}
    for module in modules():
        source = inspect.getsource(module)
        for name, value in vars(module).items():
            for i, pattern in enumerate(patterns_in(value)):
                for method in sorted({*re.findall(USE.format(name), source)}) or ["search"]:
                    found[f"{module.__name__}.{name}[{i}].{method}"] = pattern, method
    return found


USES = uses()


def words_of(pattern: str) -> list[str]:
    """What a pattern has as plain text, in order."""
    plain = re.sub(r"\\[bsSwWdDZA]|\(\?(?:P<\w+>|<?[=!]|[:>])|\[[^\]]*\]|\{[\d,]*\}", "\0", pattern)
    words = re.findall(r"(?:\\.|[^\0\\()|*+?^$.\[\]])+", plain)
    words = [re.sub(r"\\(.)", r"\1", each.replace(r"\n", "\n")) for each in words]
    return list(dict.fromkeys(words))


def seconds(pattern: re.Pattern, method: str, text: str) -> float:
    args = ("", text) if method == "sub" else (text,)
    start = process_time()
    found = getattr(pattern, method)(*args)
    for _ in found if method == "finditer" else ():
        pass
    return process_time() - start


@pytest.mark.parametrize("use", USES)
def test_time_grows_with_the_text_and_no_faster(use):
    pattern, method = USES[use]
    words = words_of(pattern.pattern)
    begins = {"", *words, *("".join(words[:n]) for n in range(2, 5)), "![](", "p", "def f"}
    for begin in sorted(begins):
        for piece in (*PIECES, *words, "".join(words[:2])):
            before = 0.0
            for n in N_PIECES:
                text = begin + piece * n + "\x01"
                now = seconds(pattern, method, text)
                if now > max(FEWEST_S, 8 * before):  # once may be an accident
                    now = min(seconds(pattern, method, text) for _ in range(3))
                assert now <= max(FEWEST_S, 8 * before), f"{begin!r} and {n} times {piece!r}"
                before = now
